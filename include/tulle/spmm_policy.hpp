// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What can be chosen for a sparse matrix times a dense one, and choose(), which decides without looking at a device.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tulle/api.hpp"
#include "tulle/context.hpp"
#include "tulle/spmm_order.hpp"
#include "tulle/types.hpp"

namespace tulle::inline TULLE_ABI::spmm {

enum class Math {
    exact,  // products and sums in the type of the sums
    tf32,   // numbers of A and B rounded to tf32 (11 bits) first; for float on tensor cores
};

enum class Kernel {
    rows,    // lanes of a GPU, or a vector of a CPU, walk a row of op(A) and hold some columns of C
    panels,  // GPU: 64 rows together; each row of B is fetched once for all of them and multiplied in 16-row tiles on
             // tensor cores
    dense,   // GPU: the same with all columns and all tiles, for nearly dense matrices: nothing is looked up
    tiles,   // the paper's: dense tiles of 32 x 32 on tensor cores (in plain loops on a CPU), the rest by rows into the
             // same C; only by force
};

// Columns of C that a lane of the row kernel holds.
inline constexpr int columns_per_lane = 4;

struct Policy {
    Kernel kernel = Kernel::rows;
    int lanes = 8;  // rows on a GPU: lanes that share a row: 2, 8, 32 with four columns of C each; otherwise 1; the
                    // rest beside tiles alike
    OrderKind order = OrderKind::natural;  // panels, tiles: which rows stand together
    int width = 0;  // panels: columns of C that a block computes (32, 64, 128; dense: 32, 64); tiles: 32, their side;
                    // otherwise 0
    int parts = 1;  // dense: blocks that share the columns of a panel (1, 2, 4, 8)
    int piece = 0;  // rows on a GPU: nonzeros of a line of work: short rows are taken together, long ones cut; 0: each
                    // row for itself

    bool operator==(const Policy&) const = default;
};

// What choose() looks at. `cost` is that of op(A) by panels of 64 rows in the order `order`; pairs = 0: nobody has
// counted.
struct Features {
    index_t rows = 0, cols = 0;
    offset_t nonzeros = 0, longest = 0;  // longest: row
    index_t n = 32;                      // columns of B expected
    std::size_t value_bytes = 8;         // of a number of A and B
    bool tensor = false;                 // the products may be done by tensor cores
    bool unique = true;                  // no position is stored twice
    double expected_calls = 1000;
    OrderKind order = OrderKind::natural;
    PanelCost cost = {};
};

struct Limits {
    Backend backend = Backend::cpu;
    int multiprocessors = 132;  // of a GPU
    bool clusters = true;       // its blocks can run together (since sm_90)
};

struct Choice {
    Policy policy;
    std::string why;  // one sentence
};

// Pure: the same features and limits give the same choice.
TULLE_API Choice choose(const Features& features, const Limits& limits);

// A kernel as choose() would use it for such a matrix: its lanes, its width, in the order of the features.
TULLE_API Policy policy_of(Kernel kernel, const Features& features, const Limits& limits);

// Whether panels can be used at all, so that an order is worth looking for and its cost worth counting
// (order_choice.hpp).
TULLE_API bool wants_cost(const Features& features, const Limits& limits);

// Everything that could be done with a matrix of these features, for tests, benchmarks and tuning.
TULLE_API std::vector<Policy> candidates(const Features& features, const Limits& limits);

// ValueError with the alternatives if a forced policy cannot work for these features.
TULLE_API void check_policy(const Policy& policy, const Features& features, const Limits& limits);

TULLE_API std::string to_text(Kernel kernel);
TULLE_API std::string to_text(
    const Policy& policy);  // "rows, 8 lanes"; "rows, 8 lanes, lines of 32"; "panels of 128, pack order"; "dense, 64
                            // columns, 8 parts"; "tiles of 32 and rest, bsa order"
TULLE_API Kernel parse_kernel(std::string_view name);  // ValueError lists the names

}  // namespace tulle::inline TULLE_ABI::spmm
