// One rank of nccl.mjs: the rank's machine and the addon, without engine and launcher. It hands
// itself the steps, and paces itself as the C++ twin does.

import { loadGpuLibraries } from '../../dist/backend-cuda/cuda-addon.js'
import { GpuDevice } from '../../dist/backend-cuda/gpu-device.js'
import { GpuRank } from '../../dist/backend-cuda/gpu-rank.js'
import { LiveMachine } from '../../dist/backend-cuda/live-machine.js'
import { fullBatch } from '../../dist/spec/batch.js'
import { isTransfer } from '../../dist/spec/operation.js'
import { createRankMachine, operationsOf } from '../../dist/spec/rank-machine.js'
import { programOf } from '../../dist/spec/resolve-program.js'

process.once('message', async ({ protocol, id, rank, ranks, steps, depth }) => {
  const { libraries } = loadGpuLibraries({ device: 'emulated' })
  const device = new GpuDevice(libraries, { ordinal: rank, rank, streams: ['broadcast'] })
  const fail = (reason) => {
    process.stderr.write(`rank ${rank}: ${reason}\n`)
    process.exit(1)
  }
  device.onFailure = (failure) => fail(JSON.stringify(failure))
  const token = device.initCommunicator(Buffer.from(id, 'base64'), ranks, rank)
  await device.communicatorReady(token)
  const batch = fullBatch(1)
  const times = { forwardNs: 0, sampleNs: 0, draftNs: 0, activationBytes: 4 }
  const options = { protocol, rank, pp: ranks, window: depth, seed: 1, drafts: 5, ...times }
  const host = new GpuRank(
    { ...options, batches: [batch] },
    device,
    undefined,
    new Map([['token', token]]),
  )
  host.raise = fail
  const program = programOf(protocol, rank, ranks)
  const forms = operationsOf(program)
  for (const form of forms) if (isTransfer(form)) host.prepare(form)
  const machine = new LiveMachine(createRankMachine(program))
  const perform = (effects) => {
    for (const effect of effects) {
      if (effect.type === 'perform') host.perform(forms[effect.operation])
    }
  }
  const warm = steps / 10
  let begin = 0
  for (let step = 0; step < steps; step++) {
    if (step === warm) begin = performance.now()
    host.beginStep(step, batch)
    perform(machine.send({ type: 'EXECUTE', batch }))
    while (machine.operation >= 0 || machine.name === 'await-sample') {
      if (machine.operation < 0) {
        perform(machine.send({ type: 'SAMPLE' }))
        continue
      }
      const form = forms[machine.operation]
      const ready = host.ready(form)
      if (ready !== undefined) {
        device.flush()
        await ready
      }
      const problem = form.do === 'check-header' ? host.checkHeader(form.header) : undefined
      if (problem !== undefined) fail(problem)
      perform(machine.send({ type: 'PROCEED' }))
    }
    device.flush()
  }
  await host.drained()
  const rate = ((steps - warm) / (performance.now() - begin)) * 1000
  await device.close()
  process.send({ rate, adopted: host.tally.adopted })
  process.disconnect()
})
