// All cases of the museum, in the order of their ids.

import { mooncake1755 } from './mooncake-1755.ts'
import type { MuseumCase } from './museum-case.ts'
import { rccl2179 } from './rccl-2179.ts'
import { sglang23477 } from './sglang-23477.ts'
import { sglang27221 } from './sglang-27221.ts'
import { sglang28043 } from './sglang-28043.ts'
import { sglang29144 } from './sglang-29144.ts'
import { sglang33289 } from './sglang-33289.ts'
import { sglang37675 } from './sglang-37675.ts'
import { torchcomms2334 } from './torchcomms-2334.ts'
import { trtllm3688 } from './trtllm-3688.ts'
import { trtllm9659 } from './trtllm-9659.ts'
import { trtllm10665 } from './trtllm-10665.ts'
import { trtllm12888 } from './trtllm-12888.ts'
import { trtllm13267 } from './trtllm-13267.ts'
import { trtllm13998 } from './trtllm-13998.ts'
import { trtllm15595 } from './trtllm-15595.ts'
import { trtllm16170 } from './trtllm-16170.ts'
import { vllm15332 } from './vllm-15332.ts'
import { vllm33368 } from './vllm-33368.ts'
import { vllm33701 } from './vllm-33701.ts'
import { vllm38726 } from './vllm-38726.ts'
import { vllm40749 } from './vllm-40749.ts'
import { vllm41865 } from './vllm-41865.ts'
import { vllm42187 } from './vllm-42187.ts'
import { vllm43547 } from './vllm-43547.ts'
import { vllm44697 } from './vllm-44697.ts'
import { vllm45610 } from './vllm-45610.ts'
import { vllm46994 } from './vllm-46994.ts'
import { vllm47253 } from './vllm-47253.ts'
import { vllm47686 } from './vllm-47686.ts'
import { vllm51650 } from './vllm-51650.ts'
import { vllm52015 } from './vllm-52015.ts'
import { vllm53402 } from './vllm-53402.ts'
import { vllm53577 } from './vllm-53577.ts'
import { vllmOmni7393 } from './vllm-omni-7393.ts'

export const museum: readonly MuseumCase[] = [
  mooncake1755,
  rccl2179,
  sglang23477,
  sglang27221,
  sglang28043,
  sglang29144,
  sglang33289,
  sglang37675,
  torchcomms2334,
  trtllm10665,
  trtllm12888,
  trtllm13267,
  trtllm13998,
  trtllm15595,
  trtllm16170,
  trtllm3688,
  trtllm9659,
  vllm15332,
  vllm33368,
  vllm33701,
  vllm38726,
  vllm40749,
  vllm41865,
  vllm42187,
  vllm43547,
  vllm44697,
  vllm45610,
  vllm46994,
  vllm47253,
  vllm47686,
  vllm51650,
  vllm52015,
  vllm53402,
  vllm53577,
  vllmOmni7393,
]

export { type Exhibit, exhibitScenario, type Knob, knobs, type MuseumCase } from './museum-case.ts'
