// Public cases of the family that are not in the museum, with the reason. A case that is left out
// for want of a notion is a gap of the model and is named as one.

export const leftOut: readonly { readonly ids: string; readonly because: string }[] = [
  {
    ids: 'vllm#32860 with try-lock, sglang#29405, sglang#26912, vllm#37024',
    because: 'bookkeeping of requests on one host; nothing of it reaches another rank in the model',
  },
]
