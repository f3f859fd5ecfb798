// The kernels, as PTX that the driver compiles for its GPU when it loads them: no CUDA toolkit is
// needed at run time. PTX 6.4 for sm_70, so that drivers from CUDA 10.1 on take it. To check it:
// `sed -n '/^.version/,/^)ptx/p' kernels.h | head -n -1 > k.ptx && ptxas -arch=sm_90 k.ptx`.

#pragma once

constexpr const char *kernelsPtx = R"ptx(
.version 6.4
.target sm_70
.address_size 64

// Spins for a time in nanoseconds: stands for forward, sample and draft.
.visible .entry ppcheck_spin_for(.param .u64 duration)
{
  .reg .pred %p;
  .reg .b64 %begin, %now, %ran, %duration;
  ld.param.u64 %duration, [duration];
  mov.u64 %begin, %globaltimer;
AGAIN:
  mov.u64 %now, %globaltimer;
  sub.u64 %ran, %now, %begin;
  setp.lt.u64 %p, %ran, %duration;
  @%p bra AGAIN;
  ret;
}

// Spins until the host sets a flag, as a collective spins until its peers come. Every block counts
// itself once it runs, so that the host sees how many are resident.
.visible .entry ppcheck_spin_until(.param .u64 started, .param .u64 flag)
{
  .reg .pred %p;
  .reg .b32 %thread, %before, %value;
  .reg .b64 %started, %flag;
  ld.param.u64 %started, [started];
  ld.param.u64 %flag, [flag];
  mov.u32 %thread, %tid.x;
  setp.ne.u32 %p, %thread, 0;
  @%p bra AGAIN;
  cvta.to.global.u64 %started, %started;
  atom.global.sys.add.u32 %before, [%started], 1;
AGAIN:
  ld.volatile.u32 %value, [%flag];
  setp.eq.u32 %p, %value, 0;
  @%p bra AGAIN;
  ret;
}

// Writes the words of a key (token_words.h).
.visible .entry ppcheck_fill(.param .u64 to, .param .u32 words, .param .u32 key)
{
  .reg .pred %p;
  .reg .b32 %i, %step, %words, %key, %x, %y, %blocks, %threads, %block, %thread;
  .reg .b64 %to, %at;
  ld.param.u64 %to, [to];
  ld.param.u32 %words, [words];
  ld.param.u32 %key, [key];
  cvta.to.global.u64 %to, %to;
  mov.u32 %threads, %ntid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %thread, %tid.x;
  mov.u32 %blocks, %nctaid.x;
  mad.lo.u32 %i, %block, %threads, %thread;
  mul.lo.u32 %step, %blocks, %threads;
AGAIN:
  setp.ge.u32 %p, %i, %words;
  @%p bra OVER;
  mad.lo.u32 %x, %i, 0x9e3779b9, %key;
  shr.u32 %y, %x, 16;
  xor.b32 %x, %x, %y;
  mul.lo.u32 %x, %x, 0x85ebca6b;
  shr.u32 %y, %x, 13;
  xor.b32 %x, %x, %y;
  mul.lo.u32 %x, %x, 0xc2b2ae35;
  shr.u32 %y, %x, 16;
  xor.b32 %x, %x, %y;
  mad.wide.u32 %at, %i, 4, %to;
  st.global.u32 [%at], %x;
  add.u32 %i, %i, %step;
  bra AGAIN;
OVER:
  ret;
}

// Counts the words that are not those of a key.
.visible .entry ppcheck_verify(.param .u64 from, .param .u32 words, .param .u32 key,
                               .param .u64 wrong)
{
  .reg .pred %p;
  .reg .b32 %i, %step, %words, %key, %x, %y, %blocks, %threads, %block, %thread, %found, %count;
  .reg .b64 %from, %at, %wrong;
  ld.param.u64 %from, [from];
  ld.param.u32 %words, [words];
  ld.param.u32 %key, [key];
  ld.param.u64 %wrong, [wrong];
  cvta.to.global.u64 %from, %from;
  cvta.to.global.u64 %wrong, %wrong;
  mov.u32 %threads, %ntid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %thread, %tid.x;
  mov.u32 %blocks, %nctaid.x;
  mad.lo.u32 %i, %block, %threads, %thread;
  mul.lo.u32 %step, %blocks, %threads;
  mov.u32 %count, 0;
AGAIN:
  setp.ge.u32 %p, %i, %words;
  @%p bra OVER;
  mad.lo.u32 %x, %i, 0x9e3779b9, %key;
  shr.u32 %y, %x, 16;
  xor.b32 %x, %x, %y;
  mul.lo.u32 %x, %x, 0x85ebca6b;
  shr.u32 %y, %x, 13;
  xor.b32 %x, %x, %y;
  mul.lo.u32 %x, %x, 0xc2b2ae35;
  shr.u32 %y, %x, 16;
  xor.b32 %x, %x, %y;
  mad.wide.u32 %at, %i, 4, %from;
  ld.global.u32 %found, [%at];
  setp.ne.u32 %p, %found, %x;
  @%p add.u32 %count, %count, 1;
  add.u32 %i, %i, %step;
  bra AGAIN;
OVER:
  setp.eq.u32 %p, %count, 0;
  @%p bra DONE;
  atom.global.sys.add.u32 %i, [%wrong], %count;
DONE:
  ret;
}
)ptx";
