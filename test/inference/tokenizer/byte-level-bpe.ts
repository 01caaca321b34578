/** What makes a tokenizer.json one of byte-level BPE, which has no compact form here. */
export const byteLevelBpe = {
  normalizer: null,
  pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true },
  decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true },
  model: {
    type: "BPE",
    unk_token: null,
    vocab: { "<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, a: 4, b: 5, ab: 6, Ġ: 7 },
    merges: ["a b"],
  },
};
