// Programmatic dependent launch, from the kernel's side. No-ops before capability 9.0 and for a
// kernel launched without the attribute.

#ifndef WINNOW_KERNELS_CUDA_PRIMITIVES_DEPENDENT_LAUNCH_CUH_
#define WINNOW_KERNELS_CUDA_PRIMITIVES_DEPENDENT_LAUNCH_CUH_

namespace winnow::cuda {

// Waits until the kernel before this one on the stream is complete and its writes are visible.
// Every thread that reads or writes global memory calls it first.
__device__ __forceinline__ void WaitForPredecessor() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lets the next kernel on the stream start once every block has called this or has exited.
__device__ __forceinline__ void ReleaseSuccessor() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

}  // namespace winnow::cuda

#endif  // WINNOW_KERNELS_CUDA_PRIMITIVES_DEPENDENT_LAUNCH_CUH_
