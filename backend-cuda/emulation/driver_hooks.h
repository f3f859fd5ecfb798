// What the emulated NCCL asks of the emulated driver beyond its public C interface.

#pragma once

#include <memory>

#include "../native/cuda/driver_api.h"
#include "engine.h"

namespace __attribute__((visibility("default"))) emulation {

/** Puts a collective on a stream; false for no stream, or one that is being captured. Locked. */
bool enqueueCollective(CUstream stream, std::unique_ptr<Collective> collective);

/** Ordinal of the device whose context is current on this thread; -1 without one. */
int currentDevice();

}  // namespace emulation
