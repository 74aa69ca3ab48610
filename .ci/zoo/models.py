"""Small instances of public architectures, with random weights. `MODELS` has for each name a function that returns a module and inputs."""

import timm
import torch
import torchvision.models as vision
import transformers
from torch import nn
from torch.nn import functional

MODELS = {}


def add(name, make):
    MODELS[name] = make


def image(size, channels=3):
    return (torch.randn(1, channels, size, size),)


def tokens(count=8, vocabulary=60):
    return (torch.randint(0, vocabulary, (1, count)),)


class Tensors(nn.Module):
    """Returns only the tensors of a module's answer."""

    def __init__(self, module, call=None):
        super().__init__()
        self.module, self.call = module, call

    def forward(self, *inputs):
        answer = self.call(self.module, *inputs) if self.call else self.module(*inputs)
        if hasattr(answer, "to_tuple"):
            answer = tuple(item for item in answer.to_tuple() if isinstance(item, torch.Tensor))
        return tuple(answer.values()) if isinstance(answer, dict) else answer


class Layers(nn.Module):
    """Layers, called by a function."""

    def __init__(self, layers, call):
        super().__init__()
        self.layers = layers if isinstance(layers, nn.Module) else nn.ModuleList(layers)
        self.call = call

    def forward(self, *inputs):
        return self.call(self.layers, *inputs)


def add_torchvision():
    plain = (
        "resnet18 mobilenet_v2 mobilenet_v3_small efficientnet_b0 shufflenet_v2_x0_5 squeezenet1_1 mnasnet0_5 "
        "regnet_y_400mf densenet121"
    )
    for name in plain.split():
        add(f"tv_{name}", lambda name=name: (getattr(vision, name)(), image(64)))
    add("tv_googlenet", lambda: (vision.googlenet(init_weights=False, aux_logits=False), image(64)))
    add("tv_vit", lambda: (vision.VisionTransformer(32, 8, 2, 2, 32, 64, num_classes=10), image(32)))
    add("tv_swin", lambda: (vision.SwinTransformer([4, 4], 24, [1, 1], [2, 2], [4, 4], num_classes=10), image(64)))
    block = vision.convnext.CNBlockConfig
    add("tv_convnext", lambda: (vision.ConvNeXt([block(16, 32, 1), block(32, None, 1)], num_classes=10), image(64)))
    lraspp = vision.segmentation.lraspp_mobilenet_v3_large
    add("tv_lraspp", lambda: (Tensors(lraspp(weights=None, weights_backbone=None, num_classes=4)), image(64)))


def add_timm():
    sizes = dict.fromkeys("test_resnet test_convnext test_efficientnet test_byobnet test_mambaout".split(), 96)
    sizes |= dict.fromkeys(
        "mobilenetv4_conv_small_035 ghostnet_050 lcnet_035 edgenext_xx_small convnextv2_atto starnet_s050 "
        "mobilenetv3_small_050 poolformer_s12".split(), 64)
    sizes |= {"test_vit": 160, "mobilevit_xxs": 128, "mixer_s32_224": 224}
    for name, size in sizes.items():
        add(f"timm_{name}", lambda name=name, size=size: (timm.create_model(name), image(size)))


def transformer(name, config, inputs, call=None, **settings):
    def make():
        made = getattr(transformers, config)(**settings)
        made._attn_implementation = "sdpa"
        try:
            module = getattr(transformers, name)(made)
        except Exception:
            made._attn_implementation = "eager"
            module = getattr(transformers, name)(made)
        return Tensors(module.eval(), call), inputs()
    return make


def add_transformers():
    tiny = dict(
        vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=32)
    add("hf_bert", transformer("BertModel", "BertConfig", tokens, **tiny, pad_token_id=0))
    add("hf_albert", transformer("AlbertModel", "AlbertConfig", tokens, **tiny, pad_token_id=0, embedding_size=16))
    add("hf_distilbert", transformer(
        "DistilBertModel", "DistilBertConfig", tokens, vocab_size=64, dim=32, n_layers=2, n_heads=4, hidden_dim=64,
        max_position_embeddings=32))
    decoder = dict(tiny, num_key_value_heads=2, use_cache=False, pad_token_id=0, bos_token_id=1, eos_token_id=2)
    more = {"Qwen3": dict(head_dim=8), "Gemma3Text": dict(head_dim=8), "SmolLM3": dict(head_dim=8), "Mixtral": dict(num_local_experts=2)}
    for name in "Llama Qwen3 Gemma3Text Phi Olmo SmolLM3 Mixtral".split():
        model = "Gemma3ForCausalLM" if name == "Gemma3Text" else f"{name}ForCausalLM"
        add(f"hf_{name.lower()}", transformer(model, f"{name}Config", tokens, **decoder, **more.get(name, {})))
    add("hf_gpt2", transformer(
        "GPT2LMHeadModel", "GPT2Config", tokens, vocab_size=64, n_embd=32, n_layer=2, n_head=4, n_positions=32,
        use_cache=False))
    add("hf_t5enc", transformer(
        "T5EncoderModel", "T5Config", tokens, vocab_size=64, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4))
    add("hf_vit", transformer(
        "ViTModel", "ViTConfig", lambda: image(32), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, image_size=32, patch_size=8))
    add("hf_segformer", transformer(
        "SegformerForSemanticSegmentation", "SegformerConfig", lambda: image(64), hidden_sizes=[8, 16, 24, 32],
        depths=[1, 1, 1, 1], num_attention_heads=[1, 2, 3, 4], decoder_hidden_size=16))
    add("hf_whisperenc", transformer(
        "WhisperModel", "WhisperConfig", lambda: (torch.randn(1, 80, 64),), lambda model, x: model.encoder(x),
        vocab_size=64, d_model=32, encoder_layers=2, decoder_layers=1, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, max_source_positions=32,
        max_target_positions=16, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1))


def unet(m, x):
    skipped = m[0](x).relu()
    return m[3](torch.cat([skipped, m[2](m[1](skipped).relu())], 1))


def pools(m, x):
    x = m(x)
    return (
        functional.max_pool2d(x, 2), functional.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        functional.adaptive_avg_pool2d(x, 3), functional.interpolate(x, scale_factor=2, mode="bilinear"),
        functional.interpolate(x, size=(5, 7)))


def order(m, x):
    x = m(x)
    return torch.topk(x, 3), torch.sort(x, -1), torch.argmax(x, -1), x.cumsum(-1)


def index(m, x, i):
    y = m(x)
    return (
        y[:, i], torch.gather(y, 1, i.view(1, -1).expand(3, -1)), torch.index_select(y, 1, i), torch.where(x > 0, y, -x),
        y.masked_fill(x > 0, 1.0))


def statistics(m, x):
    x = m(x)
    return (
        x.std(-1), x.var(0, keepdim=True), x.norm(dim=-1), x.softmax(-1).log(), x.prod(-1), x.amin(0),
        torch.logsumexp(x, 1))


def frames(m, x):
    return torch.stack([x[:, i:i + 16] for i in range(0, 48, 8)], 1) * torch.hann_window(16)


def recommendation(m, d, a, b):
    t = torch.stack([m[2](d), m[0](a), m[1](b)], 1)
    pairs = torch.bmm(t, t.transpose(1, 2)).flatten(1)[:, :6]
    return torch.sigmoid(m[3](torch.cat([m[2](d), pairs], 1)))


def add_layers():
    row = lambda *sizes: (torch.randn(*sizes),)
    recurrent = dict(batch_first=True)
    add("nn_lstm", lambda: (Layers(nn.LSTM(8, 16, 2, **recurrent), lambda m, x: m(x)[0]), row(1, 6, 8)))
    add("nn_gru_bi", lambda: (Layers(nn.GRU(8, 16, 1, bidirectional=True, **recurrent), lambda m, x: m(x)[0]), row(1, 6, 8)))
    add("nn_rnn", lambda: (Layers(nn.RNN(8, 16, 1, **recurrent), lambda m, x: m(x)), row(1, 6, 8)))
    add("nn_tenc", lambda: (nn.TransformerEncoderLayer(16, 2, 32, **recurrent), row(2, 5, 16)))
    add("nn_mha", lambda: (Layers(nn.MultiheadAttention(16, 4, **recurrent), lambda m, x: m(x, x, x)), row(2, 5, 16)))
    add("nn_unet", lambda: (Layers([
        nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 16, 3, 2, 1), nn.ConvTranspose2d(16, 8, 2, 2), nn.Conv2d(16, 2, 1)], unet), image(16)))
    add("nn_sr", lambda: (nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1), nn.PReLU(), nn.Conv2d(16, 12, 3, padding=1), nn.PixelShuffle(2)), image(16)))
    add("nn_tcn", lambda: (nn.Sequential(
        nn.Conv1d(4, 8, 3, dilation=2, padding=2), nn.BatchNorm1d(8), nn.ELU(), nn.Conv1d(8, 4, 3, groups=4),
        nn.AdaptiveAvgPool1d(1)), row(2, 4, 20)))
    add("nn_norms", lambda: (nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.GroupNorm(2, 8), nn.SiLU(), nn.InstanceNorm2d(8, affine=True), nn.Hardswish(),
        nn.LayerNorm([8, 14, 14])), image(16)))
    add("nn_pools", lambda: (Layers(nn.Conv2d(3, 4, 3), pools), image(14)))
    add("nn_embbag", lambda: (Layers(nn.Embedding(20, 8), lambda m, i: m(i).mean(1)), tokens(5, 20)))
    add("nn_topk", lambda: (Layers(nn.Linear(8, 6), order), row(3, 8)))
    add("nn_einsum", lambda: (
        Layers(nn.Linear(8, 8), lambda m, x, y: torch.einsum("bij,bjk->bik", m(x), y)),
        (torch.randn(2, 4, 8), torch.randn(2, 8, 3))))
    add("nn_index", lambda: (Layers(nn.Linear(8, 8), index), (torch.randn(3, 8), torch.tensor([1, 0, 3]))))
    add("nn_stats", lambda: (Layers(nn.Linear(8, 8), statistics), row(3, 8)))
    add("nn_audio", lambda: (Layers(nn.Linear(8, 8), frames), row(1, 64)))
    add("nn_conv3d", lambda: (nn.Conv3d(2, 4, 3, padding=1), row(1, 2, 3, 8, 8)))
    add("nn_dw", lambda: (nn.Sequential(
        nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.ReLU6(), nn.Conv2d(8, 16, 1),
        nn.Conv2d(16, 16, 3, stride=2, padding=1, groups=4)), image(12, 8)))
    add("nn_tokens", lambda: (Layers(
        [nn.Conv2d(3, 8, 4, 4), nn.Linear(8, 8)], lambda m, x: m[1](m[0](x).flatten(2).transpose(1, 2))), image(16)))
    add("nn_dlrm", lambda: (
        Layers([nn.Embedding(10, 4), nn.Embedding(12, 4), nn.Linear(3, 4), nn.Linear(10, 1)], recommendation),
        (torch.randn(2, 3), torch.tensor([1, 2]), torch.tensor([3, 4]))))


add_layers()
add_torchvision()
add_timm()
add_transformers()
