// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "simt/runtime.hpp"

namespace tulle::inline TULLE_ABI::simt {

bool is_captured(const Recording& recording);  // and the capture has not ended

long graphs_alive();  // made ready to be launched and not destroyed

// cudaStreamWaitEvent where the stream or the event is captured: the stream joins the event's capture.
cudaError_t join_capture(CUstream_st& stream, const Recording& recording);

}  // namespace tulle::inline TULLE_ABI::simt
