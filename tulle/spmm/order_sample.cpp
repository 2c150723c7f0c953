// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// What some panels of an order cost, for all: counting every panel of every order takes longer than some of them save, above all where the pattern has to
// come from a GPU first.
#include <algorithm>
#include <numeric>
#include <vector>

#include "tulle/base/hash.hpp"
#include "tulle/base/math.hpp"
#include "tulle/base/trace.hpp"
#include "tulle/device/copy.hpp"
#include "tulle/matrix/convert_steps.hpp"
#include "tulle/spmm/host_pattern.hpp"
#include "tulle/spmm/order_choice.hpp"
#include "tulle/spmm/order_steps.hpp"

namespace tulle::spmm {
namespace {

// The rows of some panels of an order, and their pattern where it can be counted.
struct Sample {
    std::vector<index_t> row;
    Buffer<offset_t> begin;              // of rows that have been brought to the host, one after the other
    Buffer<index_t> col;
    Pattern pattern;                     // `rows` of it
    offset_t nonzeros = 0;
};

// Positions of whole panels, one out of every `step`, which one as chance has it: meshes repeat themselves.
std::vector<index_t> sampled_positions(index_t rows, index_t height, index_t panels)
{
    const index_t all = ceil_div(rows, height), step = all / panels;
    std::vector<index_t> position;
    for (index_t k = 0; k < panels; ++k) {
        const auto panel = static_cast<index_t>(offset_t{k} * step + static_cast<offset_t>(below(hash_of(1, k), static_cast<std::uint64_t>(step))));
        for (index_t i = panel * height; i < std::min(rows, (panel + 1) * height); ++i) position.push_back(i);
    }
    return position;
}

void bring(const CpuQueue&, const CpuQueue&, const Pattern& a, const RowOrder& order, const std::vector<index_t>& position, Sample& s)
{
    for (const index_t p : position) {
        s.row.push_back(order.row.data()[p]);
        s.nonzeros += a.row_begin[s.row.back() + 1] - a.row_begin[s.row.back()];
    }
    s.pattern = a;
}

// Only the columns of these rows come down; the list of them goes up.
[[maybe_unused]] void bring(const CudaQueue& q, const CpuQueue& host, const Pattern& a, const RowOrder& order, const std::vector<index_t>& position, Sample& s)
{
    const auto row_begin = fetch(q, host, a.row_begin, offset_t{a.rows} + 1);
    const auto row = fetch(q, host, order.row.data(), a.rows);
    const auto rows = static_cast<index_t>(position.size());
    s.begin = Buffer<offset_t>(host, offset_t{rows} + 1);
    s.begin.data()[0] = 0;
    for (index_t i = 0; i < rows; ++i) {
        const index_t from = row.data()[position[static_cast<std::size_t>(i)]];
        s.begin.data()[i + 1] = s.begin.data()[i] + row_begin.data()[from + 1] - row_begin.data()[from];
        s.row.push_back(i);
    }
    s.nonzeros = s.begin.data()[rows];
    Buffer<offset_t> source(host, s.nonzeros);
    for (index_t i = 0; i < rows; ++i) std::iota(source.data() + s.begin.data()[i], source.data() + s.begin.data()[i + 1], row_begin.data()[row.data()[position[static_cast<std::size_t>(i)]]]);
    const Buffer<offset_t> there = to_queue(q, source.data(), source.size());
    Buffer<index_t> col(q, s.nonzeros);
    matrix::gather(q, a.col, there.data(), s.nonzeros, col.data());
    s.col = fetch(q, host, std::as_const(col).data(), s.nonzeros);
    s.pattern = {a.rows, a.cols, s.nonzeros, s.begin.data(), s.col.data(), a.sorted};
}

}  // namespace

PanelCost sample_cost(const Context& ctx, const Pattern& a, const RowOrder& order, index_t height, index_t panels)
{
    if (panels == 0 || ceil_div(a.rows, height) <= panels) return panel_cost(ctx, a, order, height);
    const trace::Phase phase{"count some panels"};
    const std::vector<index_t> position = sampled_positions(a.rows, height, panels);
    Sample s;
    ctx.run([&](const auto& q) { bring(q, ctx.host(), a, order, position, s); });
    if (s.nonzeros == 0) return panel_cost(ctx, a, order, height);
    s.pattern.rows = static_cast<index_t>(position.size());
    const PanelCost found = count_panels(ctx.host(), s.pattern, s.row.data(), height);
    const auto grown = [](offset_t part, double times) { return static_cast<offset_t>(static_cast<double>(part) * times + 0.5); };
    const double by_nonzeros = static_cast<double>(a.nonzeros) / static_cast<double>(s.nonzeros), by_panels = static_cast<double>(ceil_div(a.rows, height)) / panels;
    return {grown(found.pairs, by_nonzeros), grown(found.tiles, by_nonzeros), grown(found.panels, by_panels), grown(found.nonzeros, by_nonzeros)};
}

}  // namespace tulle::spmm
