// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// All of tulle in one include, except tulle/trace.hpp, and tulle/mpi.hpp and tulle/ptscotch.hpp, which need MPI.

/// @mainpage
/// tulle: sparse linear algebra on CPUs and GPUs.
///
/// - Device and memory: tulle::Context, tulle::Memory, tulle::Buffer, tulle::Team
/// - Matrices: csr.hpp, coo.hpp, blocked_ell.hpp, dense.hpp; conversions in convert.hpp, copies in transfer.hpp, checks
///   in validate.hpp, statistics in features.hpp, parts in partition.hpp, values of 16 bits in narrow.hpp
/// - Files and generators: io.hpp, generate.hpp
/// - y = alpha op(A) x + beta y: tulle::spmv::multiply(), tulle::spmv::Plan, tulle::spmv::TeamPlan
/// - C = alpha op(A) B + beta C, B and C dense: tulle::spmm::multiply(), tulle::spmm::Plan, tulle::spmm::TeamPlan
/// - C = op(A) op(B): tulle::spgemm::multiply(), tulle::spgemm::Plan, tulle::spgemm::TeamPlan
/// - op(T) x = alpha b: tulle::sptrsv::solve(), tulle::sptrsv::Plan
/// - c = alpha (X Y^T) at the positions of A + beta c, and sparse attention: tulle::sddmm::multiply(),
///   tulle::sddmm::Plan
/// - A x = b: tulle::solve::Plan, tulle::solve::TeamPlan
/// - Incomplete factorisations: tulle::factor::Plan
/// - Algebraic multigrid: tulle::amg::Plan
/// - Semirings, masks and graph algorithms: graph.hpp; element-wise operations, parts, reductions, sparse vectors:
///   graph_ops.hpp
/// - Several processes: distributed.hpp, distributed_solve.hpp, repartition.hpp, cluster.hpp; with MPI: mpi.hpp,
///   ptscotch.hpp
/// - Plans of all operations can be moved, not copied; a plan that was moved from can only be destroyed or assigned to,
///   all other calls throw ValueError
/// - Threads: functions may be called from several threads at once, also with copies of one context, as long as no
/// array
///   that one of them writes is used by another. One thread at a time may use a plan, a Team or an object of tulle::mpi
/// - Exceptions: error.hpp; times of phases: trace.hpp; version.hpp
#pragma once

#include "tulle/amg.hpp"
#include "tulle/context.hpp"
#include "tulle/convert.hpp"
#include "tulle/distributed.hpp"
#include "tulle/distributed_solve.hpp"
#include "tulle/factor.hpp"
#include "tulle/features.hpp"
#include "tulle/generate.hpp"
#include "tulle/graph.hpp"
#include "tulle/graph_ops.hpp"
#include "tulle/io.hpp"
#include "tulle/narrow.hpp"
#include "tulle/partition.hpp"
#include "tulle/repartition.hpp"
#include "tulle/sddmm.hpp"
#include "tulle/solve.hpp"
#include "tulle/solve_team.hpp"
#include "tulle/spgemm.hpp"
#include "tulle/spgemm_team.hpp"
#include "tulle/spmm.hpp"
#include "tulle/spmm_team.hpp"
#include "tulle/spmv.hpp"
#include "tulle/spmv_direct.hpp"
#include "tulle/spmv_team.hpp"
#include "tulle/sptrsv.hpp"
#include "tulle/team.hpp"
#include "tulle/transfer.hpp"
#include "tulle/validate.hpp"
