// Public cases of the family that are not in the museum, with the reason. A case that is left out
// for want of a notion is a gap of the model and is named as one.

export const leftOut: readonly { readonly ids: string; readonly because: string }[] = [
  {
    ids: 'vllm#52295, vllm#54436, vllm#49355, vllm-ascend#17149, sglang#32277, vllm#47066',
    because:
      'every rank does the same and the values are wrong (zero drafts, a row left out, padding); ' +
      'the model compares ranks with each other and knows no contents of tokens',
  },
  {
    ids: 'vllm#32618, vllm-ascend#11076, tenstorrent vllm#395',
    because:
      'tokens are taken in the next step or by the scheduler process; the model takes them ' +
      'exactly pp steps later (P7) and has no row maps or mailboxes',
  },
  {
    ids: 'vllm-ascend#10750, vllm#50853, TensorRT-LLM#16580, vllm#26866, miles#788, pytorch#196463',
    because: 'designs and review concerns, not bugs with a sequence of operations',
  },
  {
    ids: 'vllm#41530, vllm#51921, vllm#41357, vllm#45159, ROCm ATOM#1552',
    because: 'a time-out decides the verdict, and the model has no clock',
  },
  {
    ids: 'TensorRT-LLM#10349, sglang#27010, sglang#23006, sglang#34572, vllm#29996, sglang#28815',
    because:
      'ranks decide for themselves what a batch holds: on the wire this is trtllm-9659 or ' +
      'sglang-27221 again',
  },
  {
    ids: 'sglang#29405, sglang#26912, vllm#37024, vllm#48245, vllm#38624, vllm#43732',
    because: 'bookkeeping of requests on one host; nothing of it reaches another rank in the model',
  },
  {
    ids: 'TensorRT-LLM#6976, vllm#42271, vllm#51593, vllm-ascend#9405, vllm#52907, sglang#33549',
    because: 'the report does not say enough of the sequence to write a program without guessing',
  },
  {
    ids: 'vllm#53057, vllm#54269, vllm#42603, verl#7083, vllm-ascend#16315',
    because: 'the same reuse of a buffer as vllm-48085 and sglang-34816',
  },
  {
    ids: 'vllm#35194, vllm#56831',
    because: 'the same skipped or resized collective as sglang-37675 and sglang-27221',
  },
  {
    ids: 'vllm#30407',
    because: 'memory fences of a ring between processes are below what the model says',
  },
  {
    ids: 'Derecho#20',
    because: 'sequence numbers are compared as differences; that they wrap is not modelled',
  },
]
