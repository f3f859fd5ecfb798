// All cases of the museum, in the order of their ids.

import { art919 } from './art-919.ts'
import { exllamav3302 } from './exllamav3-302.ts'
import { lightning19045 } from './lightning-19045.ts'
import { megatron5240 } from './megatron-5240.ts'
import { megatronLm5788 } from './megatron-lm-5788.ts'
import { mooncake1755 } from './mooncake-1755.ts'
import type { MuseumCase } from './museum-case.ts'
import { nccl195 } from './nccl-195.ts'
import { nccl1541 } from './nccl-1541.ts'
import { paddlefleet1136 } from './paddlefleet-1136.ts'
import { pytorch129140 } from './pytorch-129140.ts'
import { pytorch140563 } from './pytorch-140563.ts'
import { pytorch152938 } from './pytorch-152938.ts'
import { pytorch172668 } from './pytorch-172668.ts'
import { pytorch188655 } from './pytorch-188655.ts'
import { rccl2179 } from './rccl-2179.ts'
import { rccl2191 } from './rccl-2191.ts'
import { rlinf1378 } from './rlinf-1378.ts'
import { sglang11609 } from './sglang-11609.ts'
import { sglang23477 } from './sglang-23477.ts'
import { sglang27221 } from './sglang-27221.ts'
import { sglang28043 } from './sglang-28043.ts'
import { sglang29144 } from './sglang-29144.ts'
import { sglang33289 } from './sglang-33289.ts'
import { sglang34816 } from './sglang-34816.ts'
import { sglang37675 } from './sglang-37675.ts'
import { slime393 } from './slime-393.ts'
import { slime2331 } from './slime-2331.ts'
import { speechbrain2401 } from './speechbrain-2401.ts'
import { torchcomms2334 } from './torchcomms-2334.ts'
import { torchrec4149 } from './torchrec-4149.ts'
import { torchtitan775 } from './torchtitan-775.ts'
import { trtllm3688 } from './trtllm-3688.ts'
import { trtllm3988 } from './trtllm-3988.ts'
import { trtllm9659 } from './trtllm-9659.ts'
import { trtllm10665 } from './trtllm-10665.ts'
import { trtllm12888 } from './trtllm-12888.ts'
import { trtllm13267 } from './trtllm-13267.ts'
import { trtllm13998 } from './trtllm-13998.ts'
import { trtllm15595 } from './trtllm-15595.ts'
import { trtllm16170 } from './trtllm-16170.ts'
import { vllm3455 } from './vllm-3455.ts'
import { vllm15332 } from './vllm-15332.ts'
import { vllm32860 } from './vllm-32860.ts'
import { vllm33368 } from './vllm-33368.ts'
import { vllm33701 } from './vllm-33701.ts'
import { vllm36013 } from './vllm-36013.ts'
import { vllm36280 } from './vllm-36280.ts'
import { vllm38726 } from './vllm-38726.ts'
import { vllm39366 } from './vllm-39366.ts'
import { vllm39833 } from './vllm-39833.ts'
import { vllm40084 } from './vllm-40084.ts'
import { vllm40749 } from './vllm-40749.ts'
import { vllm40926 } from './vllm-40926.ts'
import { vllm41160 } from './vllm-41160.ts'
import { vllm41865 } from './vllm-41865.ts'
import { vllm42187 } from './vllm-42187.ts'
import { vllm43547 } from './vllm-43547.ts'
import { vllm44697 } from './vllm-44697.ts'
import { vllm45357 } from './vllm-45357.ts'
import { vllm45610 } from './vllm-45610.ts'
import { vllm46195 } from './vllm-46195.ts'
import { vllm46994 } from './vllm-46994.ts'
import { vllm47253 } from './vllm-47253.ts'
import { vllm47686 } from './vllm-47686.ts'
import { vllm48085 } from './vllm-48085.ts'
import { vllm51476 } from './vllm-51476.ts'
import { vllm51650 } from './vllm-51650.ts'
import { vllm52015 } from './vllm-52015.ts'
import { vllm53402 } from './vllm-53402.ts'
import { vllm53402Header } from './vllm-53402-header.ts'
import { vllm53577 } from './vllm-53577.ts'
import { vllm53597 } from './vllm-53597.ts'
import { vllm53948 } from './vllm-53948.ts'
import { vllmAscend13865 } from './vllm-ascend-13865.ts'
import { vllmAscend16514 } from './vllm-ascend-16514.ts'
import { vllmOmni7393 } from './vllm-omni-7393.ts'

export const museum: readonly MuseumCase[] = [
  art919,
  exllamav3302,
  lightning19045,
  megatron5240,
  megatronLm5788,
  mooncake1755,
  nccl1541,
  nccl195,
  paddlefleet1136,
  pytorch129140,
  pytorch140563,
  pytorch152938,
  pytorch172668,
  pytorch188655,
  rccl2179,
  rccl2191,
  rlinf1378,
  sglang11609,
  sglang23477,
  sglang27221,
  sglang28043,
  sglang29144,
  sglang33289,
  sglang34816,
  sglang37675,
  slime2331,
  slime393,
  speechbrain2401,
  torchcomms2334,
  torchrec4149,
  torchtitan775,
  trtllm10665,
  trtllm12888,
  trtllm13267,
  trtllm13998,
  trtllm15595,
  trtllm16170,
  trtllm3688,
  trtllm3988,
  trtllm9659,
  vllm15332,
  vllm32860,
  vllm33368,
  vllm33701,
  vllm3455,
  vllm36013,
  vllm36280,
  vllm38726,
  vllm39366,
  vllm39833,
  vllm40084,
  vllm40749,
  vllm40926,
  vllm41160,
  vllm41865,
  vllm42187,
  vllm43547,
  vllm44697,
  vllm45357,
  vllm45610,
  vllm46195,
  vllm46994,
  vllm47253,
  vllm47686,
  vllm48085,
  vllm51476,
  vllm51650,
  vllm52015,
  vllm53402,
  vllm53402Header,
  vllm53577,
  vllm53597,
  vllm53948,
  vllmAscend13865,
  vllmAscend16514,
  vllmOmni7393,
]

export { type Exhibit, exhibitScenario, type Knob, knobs, type MuseumCase } from './museum-case.ts'
