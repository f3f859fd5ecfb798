// The contents of a synthetic payload: word i under a key, so that every rank can verify what every
// other sent. Written three times and compared by the tests: here, as PTX (kernels.h), and in
// TypeScript (device-payload.ts).

#pragma once

#include <cstdint>

/** The finalizer of MurmurHash3 over the key and the word's index. */
inline std::uint32_t tokenWord(std::uint32_t key, std::uint32_t index) {
  std::uint32_t x = key + index * 0x9e3779b9u;
  x ^= x >> 16;
  x *= 0x85ebca6bu;
  x ^= x >> 13;
  x *= 0xc2b2ae35u;
  return x ^ (x >> 16);
}
