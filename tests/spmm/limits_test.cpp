// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Limits of narrow types, columns near 2^31 in tiny matrices, lines 2^32 bytes apart: every policy, exactly.
//
//     where                                     holds                                      switches at
//                                                    seen by
//     Chunk::first (panels.hpp)                 tiles in 32 bits                           2^32 tiles: refused, too
//                                               many to make in a test
//     Chunk::col, block_col (tiles.hpp)         columns, columns / 32                      cols 2^31 - 1
//                                                    hypersparse
//     present of panels, of tiles               a bit for each value of a lane, of a row   8 values, 32 columns
//                                                    near_limits, combinations
//     key_of (make_panels.cpp), FirstColumn     mask << 32 | column, hash << 32 | column   columns of 31 bits
//                                                    hypersparse
//     cut_rows.cu                               lines << 32 | slots                        2^31 pieces: refused
//                                                    RowsAreCutWhere…
//     sort keys of order.cpp                    nonzeros + 1, cols + 1, clusters           a power of two
//                                                    near_limits, hypersparse
//     dense operands                            i * leading + j                            2^32 bytes
//                                                    LinesFourGibi…
#include "spmm/dense_case.hpp"

#include <set>

#include "support/backends.hpp"
#include "support/reserved.hpp"

namespace tulle::inline TULLE_ABI::spmm {
namespace {

using namespace test;
using tulle::test::ReservedDense;
using tulle::test::RoomToReserve;

class SpmmLimitsOn : public tulle::test::OnBackend {};

double b_at(index_t i, index_t n) { return 1 + (i % 5 + 3 * n) % 4; }

// alpha A B + beta C where B and C stand in reserved memory; C was 1 everywhere.
template <class V>
void check_policy(const Context& c, const HostCsr<V>& a, const CsrView<V>& there, const Policy& policy, Math math,
                  ReservedDense<V>& b, Layout layout_c, offset_t leading_c)
{
    const index_t n = b.view().cols;
    ReservedDense<V> to(c, a.rows, n, layout_c, leading_c);
    std::vector<double> want(static_cast<std::size_t>(a.rows) * static_cast<std::size_t>(n), -1.0);
    for (index_t i = 0; i < a.rows; ++i)
        for (index_t j = 0; j < n; ++j) to.put(i, j, static_cast<V>(1.0));
    for (const auto& [i, j, v] : a.entries())
        for (index_t k = 0; k < n; ++k)
            want[static_cast<std::size_t>(i * n + k)] += 2 * static_cast<double>(v) * b_at(j, k);
    Plan<V>::make(c, there, {.n = n, .b_layout = b.view().layout, .math = math, .force = policy})
        .run(Sum<V>(2), b.view(), Sum<V>(-1), to.view());
    for (index_t i = 0; i < a.rows; ++i)
        for (index_t j = 0; j < n; ++j)
            ASSERT_EQ(static_cast<double>(to.get(i, j)),
                      static_cast<double>(static_cast<V>(want[static_cast<std::size_t>(i * n + j)])))
                << i << ", " << j;
}

// Whether a plan needs room for as many numbers as B has rows: the dense kernel and tiles, orders that look for shared
// columns, and B by columns, which is copied. Whoever has such a B has room for that; a test does not.
bool takes_room_for_all_columns(const Policy& p, Layout b)
{
    return p.kernel == Kernel::dense || p.kernel == Kernel::tiles || p.order == OrderKind::pack ||
           p.order == OrderKind::bsa || b == Layout::col_major;
}

// All policies, B and C by rows and by columns, with a leading dimension of at least so much.
template <class V>
void check_policies(const Context& c, const std::string& name, const HostCsr<double>& in_double, index_t n,
                    offset_t leading, bool wide, Math math, unsigned one_in)
{
    const auto a = in_type<V>(in_double);
    const auto there = to_device(c, a.view());
    const Features features = Plan<V>::make(c, there.view(), {.n = n, .math = math}).features();
    const std::set<index_t> needed(a.col.begin(), a.col.end());
    for (const Layout layout : {Layout::row_major, Layout::col_major}) {
        if (wide && layout == Layout::col_major) continue;
        ReservedDense<V> b(c, a.cols, n, layout,
                           std::max(leading, offset_t{layout == Layout::row_major ? n : a.cols} + 1));
        // Some kernels copy all of B, or multiply rows of it by zeros; lines far apart are too many bytes to write.
        if (!wide && leading == 1) b.put_all([](index_t i, index_t j) { return static_cast<V>(b_at(i, j)); });
        else
            for (const index_t i : needed)
                for (index_t j = 0; j < n; ++j) b.put(i, j, static_cast<V>(b_at(i, j)));
        for (const Layout to : {Layout::row_major, Layout::col_major})
            for (const Policy& policy : candidates(features, {c.backend()})) {
                if (wide && takes_room_for_all_columns(policy, layout)) continue;
                const std::string what = name + ", " + name_of<V>() + (math == Math::tf32 ? ", tf32" : "") +
                                         (layout == Layout::row_major ? ", rows to " : ", columns to ") +
                                         (to == Layout::row_major ? "rows, " : "columns, ") + to_text(policy);
                if (!is_drawn(what, one_in)) continue;
                SCOPED_TRACE(what);
                check_policy<V>(c, a, there.view(), policy, math, b, to,
                                std::max(leading, offset_t{to == Layout::row_major ? n : a.rows} + 1));
                if (::testing::Test::HasFatalFailure()) return;
            }
    }
}

TEST_P(SpmmLimitsOn, DimensionsAndDistancesAtTheEndsOf8And16Bits)
{
    const RoomToReserve room;
    const auto c = ctx();
    for (const auto& [name, a] : tulle::test::near_limits<double>()) {
        const bool wide = !tulle::test::takes_all() && a.cols > 1000;  // a simulated GPU takes long for all columns
        check_policies<double>(c, name, a, 5, 1, wide, Math::exact, 25);
        check_policies<Float16>(c, name, a, 5, 1, wide, Math::exact, 25);
    }
}

TEST_P(SpmmLimitsOn, ColumnsUpTo31Bits)
{
    const RoomToReserve room;
    const auto c = ctx();
    if (const std::string why = tulle::test::why_not_reserved(c, std::size_t{40} << 30); !why.empty())
        GTEST_SKIP() << why;
    for (const auto& [name, a] : tulle::test::hypersparse<double>()) {
        check_policies<float>(c, name, a, 3, 1, true, Math::exact, 25);
        check_policies<float>(c, name, a, 3, 1, true, Math::tf32, 25);
        check_policies<Float16>(c, name, a, 3, 1, true, Math::exact, 25);
    }
}

// Few rows and columns, lines 2^32 bytes apart, a little less and a little more: every product of an index and a
// leading dimension exceeds 32 bits, and so does the step itself, which kernels keep in 32 bits where it fits
// (operands.cuh).
template <class V>
void check_far_apart(const Context& c, Math math, unsigned one_in)
{
    const auto a = tulle::test::matrix_of_columns<double>(9, 8, 3, [](index_t i) {
        return i == 4   ? std::vector{0, 1, 2, 3, 4, 5, 6, 7}
               : i == 2 ? std::vector<index_t>{}
                        : std::vector{i % 3, 3 + i % 5};
    });
    const offset_t limit = (offset_t{1} << 32) / static_cast<offset_t>(sizeof(V));
    for (const offset_t leading : {limit - 8, limit, limit + 1})
        check_policies<V>(c, "lines of " + std::to_string(leading), a, 5, leading, false, math, one_in);
}

TEST_P(SpmmLimitsOn, LinesFourGibibytesApart)
{
    const RoomToReserve room;
    const auto c = ctx();
    if (const std::string why = tulle::test::why_not_reserved(c, std::size_t{80} << 30); !why.empty())
        GTEST_SKIP() << why;
    check_far_apart<double>(c, Math::exact, 4);
    check_far_apart<float>(c, Math::tf32, 12);
    check_far_apart<Float16>(c, Math::exact, 12);
}

// Rows of B that are whole pieces and vectors, as tensor cores and the widest loops of a CPU take them; rows of A in
// threes with the same columns.
template <class V>
void check_whole_pieces(const Context& c, Math math, unsigned one_in)
{
    const auto a = tulle::test::matrix_of_columns<double>(12, 8, 3, [](index_t i) {
        return i / 3 == 1 ? std::vector{0, 1, 2, 3, 4, 5, 6, 7} : std::vector{i / 3, 4 + i / 3};
    });
    const offset_t limit = (offset_t{1} << 32) / static_cast<offset_t>(sizeof(V));
    const bool on_gpu = c.backend() == Backend::cuda;
    for (const offset_t leading : {limit / 2 - 8, limit, limit + 8})
        check_policies<V>(c, "pieces, lines of " + std::to_string(leading), a, on_gpu ? 8 : 64, leading, false, math,
                          on_gpu ? one_in : 1);
}

TEST_P(SpmmLimitsOn, WholePiecesFourGibibytesApart)
{
    const RoomToReserve room;
    const auto c = ctx();
    if (const std::string why = tulle::test::why_not_reserved(c, std::size_t{110} << 30); !why.empty())
        GTEST_SKIP() << why;
    check_whole_pieces<double>(c, Math::exact, 8);
    check_whole_pieces<float>(c, Math::exact, 8);
    check_whole_pieces<float>(c, Math::tf32, 16);
    check_whole_pieces<Float16>(c, Math::exact, 16);
}

TULLE_ON_BACKENDS(SpmmLimitsOn);

}  // namespace
}  // namespace tulle::inline TULLE_ABI::spmm
