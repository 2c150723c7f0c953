// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// All of tulle in one include.
#pragma once

#include "tulle/device/context.hpp"
#include "tulle/device/info.hpp"
#include "tulle/device/team.hpp"
#include "tulle/io/generate.hpp"
#include "tulle/io/io.hpp"
#include "tulle/matrix/arrange.hpp"
#include "tulle/matrix/convert.hpp"
#include "tulle/matrix/features.hpp"
#include "tulle/matrix/move.hpp"
#include "tulle/matrix/validate.hpp"
#include "tulle/partition/partial.hpp"
#include "tulle/spgemm/multi.hpp"
#include "tulle/spgemm/spgemm.hpp"
#include "tulle/spmm/multi.hpp"
#include "tulle/spmm/spmm.hpp"
#include "tulle/spmv/multi.hpp"
#include "tulle/spmv/spmv.hpp"
#include "tulle/sptrsv/sptrsv.hpp"
