// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// How long threads of OpenMP spin before they sleep.
//
// A thread that waits for another one spins, in GNU's runtime 300,000 times: 10 to 20 ms on x86-64, as a pause takes
// 140 cycles there. On a machine with other work it keeps a core busy for which the other thread waits, at each
// barrier.
#pragma once

namespace tulle::cli {

// On a machine with other work, starts this program again with a shorter spin, since the runtime reads its environment
// before main(). Returns where there is little other work, where the caller's environment already has a policy, or
// where nothing can be started. At the begin of main().
void spin_briefly_if_busy(char** words);

}  // namespace tulle::cli
