// What doctor says of machines that are not this one.

import { expect, test } from 'vitest'
import { glooAddonFile } from '../../backend-cuda/package-folder.ts'
import { type Host, type Probe, type ProbeName, probeAll } from '../../backend-cuda/probe.ts'

/** A machine with nothing but an old Node.js; tests add to it. */
const machine = (change: {
  files?: readonly string[]
  cache?: string
  environment?: Record<string, string>
  nodeVersion?: string
}): Host => {
  const files = change.files ?? []
  return {
    nodeVersion: change.nodeVersion ?? '20.18.9',
    environment: change.environment ?? {},
    exists: (path) => files.includes(path),
    executable: (path) => files.includes(path),
    list: (folder) =>
      files
        .filter((file) => file.startsWith(`${folder}/`))
        .map((file) => file.slice(folder.length + 1)),
    loaderCache: () => change.cache ?? '',
  }
}

const probe = (host: Host, name: ProbeName): Probe => {
  const found = probeAll(host).find((each) => each.name === name)
  if (found === undefined) throw new Error(`no probe ${name}`)
  return found
}

test('on a bare machine everything is missing, with a reason and a remedy', () => {
  for (const each of probeAll(machine({}))) {
    expect(each).toMatchObject({ available: false })
    if (!each.available) expect(each.reason && each.remedy).toBeTruthy()
  }
})

test.each([
  ['20.19.0', true],
  ['24.0.0', true],
  ['20.18.9', false],
  ['18.99.0', false],
])('Node.js %s', (nodeVersion, available) => {
  expect(probe(machine({ nodeVersion }), 'node')).toMatchObject({ available })
})

test('gloo needs its header and its library', () => {
  const header = '/usr/include/gloo/context.h'
  const library = '/usr/lib/x86_64-linux-gnu/libgloo.so.0'
  const both = probe(machine({ files: [header, library, glooAddonFile()] }), 'gloo')
  expect(both).toMatchObject({ available: true, found: `${library}, ${header}` })
  expect(probe(machine({ files: [header, library] }), 'gloo')).toMatchObject({
    reason: `${library} is here, but the addon that calls it is not built`,
  })
  expect(probe(machine({ files: [header] }), 'gloo')).toMatchObject({
    reason: 'no library libgloo',
  })
  expect(probe(machine({ files: [library] }), 'gloo')).toMatchObject({
    reason: 'no header gloo/context.h',
  })
})

test('gloo may have a root of its own, and a version in its name', () => {
  const library = ['/opt/gloo/include/gloo/context.h', '/opt/gloo/lib/libgloo.so.0.5']
  const files = [...library, glooAddonFile()]
  const host = machine({ files, environment: { GLOO_ROOT: '/opt/gloo' } })
  expect(probe(host, 'gloo')).toMatchObject({ available: true })
})

test('the driver and NCCL are found on disk, by LD_LIBRARY_PATH, or in the loader cache', () => {
  const cache = '\tlibcuda.so.1 (libc6,x86-64) => /opt/driver/libcuda.so.1\n'
  expect(probe(machine({ cache }), 'cuda-driver')).toMatchObject({
    found: '/opt/driver/libcuda.so.1',
  })
  const files = ['/fake/libnccl.so.2']
  const host = machine({ files, environment: { LD_LIBRARY_PATH: '/empty:/fake' } })
  expect(probe(host, 'nccl')).toMatchObject({ found: '/fake/libnccl.so.2' })
  // libcuda.so without the version is the toolkit's stub, which is no driver.
  const stub = '\tlibcuda.so (libc6,x86-64) => /usr/local/cuda/lib64/stubs/libcuda.so\n'
  expect(probe(machine({ cache: stub }), 'cuda-driver')).toMatchObject({ available: false })
})

test('PPCHECK_NCCL_LIBRARY decides alone', () => {
  const environment = { PPCHECK_NCCL_LIBRARY: '/wheel/libnccl.so.2' }
  const present = machine({ environment, files: ['/wheel/libnccl.so.2'] })
  expect(probe(present, 'nccl')).toMatchObject({ available: true })
  const absent = machine({ environment, files: ['/usr/lib/libnccl.so.2'] })
  expect(probe(absent, 'nccl')).toMatchObject({ available: false })
})

test('GPUs are counted by their device files', () => {
  const files = ['/dev/nvidia0', '/dev/nvidia1', '/dev/nvidiactl', '/dev/nvidia-uvm']
  expect(probe(machine({ files }), 'gpus')).toMatchObject({ found: '2 GPUs' })
})
