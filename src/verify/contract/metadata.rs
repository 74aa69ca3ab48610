//! The meaning of constant methods for ExecuTorch's runners.

/// The names in `extension/llm/runner/constants.h` and what `extension/llm/runner` does with them; `get_dynamic_dims` and the like are conventions of
/// applications.
const MEANINGS: [(&str, &str); 13] = [
    ("enable_dynamic_shape", "runners pass a prompt of any length at once; without it, one token at a time"),
    ("get_bos_id", "the token at the start of a text, if the tokenizer does not state it"),
    ("get_dynamic_dims", "the dimensions of inputs that may change, for applications"),
    ("get_eos_id", "a token that ends a text, for runners before `get_eos_ids`"),
    ("get_eos_ids", "the tokens that end a text"),
    ("get_max_context_len", "the most tokens in the cache, of prompt and answer together"),
    ("get_max_seq_len", "the most tokens that one call takes"),
    ("get_n_bos", "the number of tokens at the start of a text"),
    ("get_n_caches", "the number of caches that the runner allocates"),
    ("get_n_eos", "the number of tokens at the end of a text"),
    ("get_vocab_size", "the number of tokens in the vocabulary"),
    ("use_kv_cache", "the model keeps keys and values of earlier tokens"),
    ("use_sdpa_with_kv_cache", "attention and its cache are one operator"),
];

/// Returns the meaning of a constant method; `None` if runners do not read it.
pub(super) fn meaning(name: &str) -> Option<&'static str> {
    MEANINGS.iter().find(|(known, _)| *known == name).map(|(_, meaning)| *meaning)
}
