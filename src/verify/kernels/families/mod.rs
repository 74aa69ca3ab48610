//! Rules of a few kernels with arithmetic of their own, after the sources that the table of operators names.

mod indexing;
mod joins;
mod numbers;
mod products;
mod quantized;
mod reductions;
mod views;
mod windows;

use super::call::Call;
use super::fault::Checked;
use crate::operators::Family;

impl Call<'_, '_> {
    pub(super) fn family(&self, family: Family) -> Checked {
        match family {
            Family::Reduction(input, dims, keep, outs) => self.reduction(input, dims, keep, outs),
            Family::DimNotEmpty(dim, tensor) => self.dim_not_empty(dim, tensor),
            Family::EndNotEmpty(dim, tensor) => self.end_not_empty(dim, tensor),
            Family::PooledIndices => self.pooled_indices(),
            Family::TopK => self.top_k(),
            Family::Nonzero => self.nonzero(),
            Family::MaskedSelect => self.masked_select(),
            Family::Glu => self.glu(),
            Family::Convolution => self.convolution("out"),
            Family::ConvolutionBackward => self.convolution_backward(),
            Family::MaxPool(input, outs) => self.pool(input, outs, true),
            Family::AveragePool => self.pool("self", &["out"], false),
            Family::AdaptivePool => self.adaptive_pool(),
            Family::Linear => self.linear(),
            Family::LayerNorm => self.layer_norm(),
            Family::BatchNorm(input, running) => self.batch_norm(input, running),
            Family::GroupNorm => self.group_norm(),
            Family::Cdist => self.cdist(),
            Family::Pdist => self.pdist(),
            Family::RealFft => self.fft("self", "out", false).and_then(|()| self.normalization()),
            Family::ComplexFft => self.fft("out", "self", true).and_then(|()| self.normalization()),
            Family::Upsample => self.upsample(),
            Family::UpsampleAntialias => self.upsample_antialias(),
            Family::Expand => self.expand(),
            Family::Repeat => self.repeat(),
            Family::RepeatInterleave => self.repeat_interleave(),
            Family::Permute => self.permute(),
            Family::Transpose(first, second) => self.transpose(first, second),
            Family::TransposeMatrix => self.transpose_matrix(),
            Family::View => self.view_copy(),
            Family::EtView => self.et_view(),
            Family::Divisor => self.divisor(),
            Family::FirstOfOne => self.first_of_one(),
            Family::Choice => self.choice(),
            Family::CopyIndex => self.copy_index(),
            Family::Unsqueeze => self.unsqueeze(),
            Family::Squeeze => self.squeeze(),
            Family::Cat => self.cat(),
            Family::Stack => self.stack(),
            Family::Split => self.split(),
            Family::SplitSizes => self.split_sizes(),
            Family::Unbind => self.unbind(),
            Family::Slice => self.slice(),
            Family::SliceScatter => self.slice_scatter(),
            Family::Narrow => self.narrow(),
            Family::Select => self.select(),
            Family::SelectScatter => self.select_scatter(),
            Family::Gather => self.gather(None),
            Family::Scatter(source) => self.gather(source),
            Family::Index => self.index(),
            Family::IndexPut => self.index_put(),
            Family::IndexPutInPlace => self.index_put_in_place(),
            Family::IndexSelect => self.index_select(),
            Family::Embedding => self.embedding(),
            Family::QuantizedEmbedding(bits) => self.quantized_embedding(bits),
            Family::ConstantPad => self.constant_pad(),
            Family::Pad(dims, reflects) => self.pad(dims, reflects),
            Family::PixelShuffle => self.pixel_shuffle(),
            Family::PixelUnshuffle => self.pixel_unshuffle(),
            Family::Arange => self.arange(),
            Family::AsStrided => self.as_strided(),
            Family::Diagonal => self.diagonal(),
            Family::Unfold => self.unfold(),
            Family::ViewAsReal => self.view_as_real(),
            Family::Roll => self.roll(),
            Family::DimOrder => self.dim_order(),
            Family::SizeList(name) => self.size_list(name),
            Family::PerChannel(axis) => self.per_channel(axis),
            Family::ZeroPoints => self.zero_points(),
            Family::PerToken => self.per_token(),
            Family::ChooseQparams => self.choose_qparams(),
            Family::HalfMoments => self.half_moments(),
        }
    }
}
