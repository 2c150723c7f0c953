// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// All of tulle in one include, except tulle/trace.hpp.
#pragma once

#include "tulle/context.hpp"
#include "tulle/convert.hpp"
#include "tulle/features.hpp"
#include "tulle/generate.hpp"
#include "tulle/io.hpp"
#include "tulle/partition.hpp"
#include "tulle/spgemm.hpp"
#include "tulle/spgemm_team.hpp"
#include "tulle/spmm.hpp"
#include "tulle/spmm_team.hpp"
#include "tulle/spmv.hpp"
#include "tulle/spmv_team.hpp"
#include "tulle/sptrsv.hpp"
#include "tulle/team.hpp"
#include "tulle/transfer.hpp"
#include "tulle/validate.hpp"
