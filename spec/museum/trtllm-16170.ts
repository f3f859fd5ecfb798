// A relay thread that cannot run while the host holds the interpreter lock and loads a kernel.

import { done, launch, type Operation, rendezvous, reply, send, streamWait } from '../operation.ts'
import { defineProtocol } from '../program.ts'
import type { Scenario } from '../scenario.ts'
import { receiveActivation, staged } from './engines.ts'
import { defineCase } from './museum-case.ts'

const load = launch('forward', { stream: 'main', loadsModule: true })
const relay = (peer: 'previous' | 'next'): Operation => rendezvous('sample-state', peer)
const receiveAct = receiveActivation()
const engine = (name: string, inline: boolean): Scenario =>
  staged(
    defineProtocol({
      name,
      summary: 'sample states go from host to host, activations from device to device',
      communicators: { neighbour: { kind: 'pair' } },
      roles: {
        first: {
          execute: [
            ...(inline ? [relay('next')] : []),
            launch('prepare', { stream: 'main' }),
            ...sendEarly,
            load,
            ...(inline ? [] : [relay('next')]),
          ],
          sample: [],
        },
        others: {
          execute: [
            relay('previous'),
            receiveAct,
            streamWait('main', done('receive-activation')),
            launch('step', { stream: 'main' }),
          ],
          sample: [],
        },
        last: {
          execute: [
            relay('previous'),
            receiveAct,
            streamWait('main', done('receive-activation')),
            launch('step', { stream: 'main' }),
            reply(done('step')),
          ],
          sample: [],
        },
      },
    }),
    {
      device: { residentCollectives: 4, moduleLoading: 'lazy' },
      workload: { choices: [{ firstUse: true }] },
    },
  )
const sendEarly: Operation[] = [
  streamWait('activation-send', done('prepare')),
  send('send-activation', {
    communicator: 'neighbour',
    dtype: 'bfloat16',
    shape: [1],
    stream: 'activation-send',
    peer: 'next',
  }),
]

export const trtllm16170 = defineCase({
  id: 'trtllm-16170',
  family: 'B01',
  reports: [{ id: 'TensorRT-LLM#16170', url: 'https://github.com/NVIDIA/TensorRT-LLM/pull/16170' }],
  mechanism:
    'A rank loads a kernel while its activation send spins, holding the lock that ' +
    'its relay thread needs to forward the sample state. The neighbour waits for ' +
    'that state before it posts the receive that would end the send.',
  engine: 'TensorRT-LLM, PP, MPI relay and NCCL activations',
  knobs: ['modload', 'ctrl', 'hostblk'],
  inferred:
    'The lock is modelled by its effect: the relay comes after the load in the ' +
    'order of the host.',
  exhibits: [
    {
      when: 'before',
      name: 'the relay comes after the load',
      violates: 'P1',
      scenario: () => engine('relay-starved', false),
    },
    {
      when: 'after',
      name: 'relayed inline, at a fixed place before the forward pass',
      scenario: () => engine('relay-inline', true),
    },
  ],
})
