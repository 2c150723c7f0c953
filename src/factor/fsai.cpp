// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
//   pattern     the lower triangle of A; rows with many entries are shortened
//   invert      a small dense system for each row (invert_rows, fsai_row.hpp)
//   transpose   G^T, and plans of both products
#include "factor/fsai.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/plural.hpp"
#include "factor/fsai_row.hpp"
#include "matrix/convert_steps.hpp"
#include "matrix/inspect_steps.hpp"
#include "tulle/convert.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"
#include "tulle/transfer.hpp"

namespace tulle::inline TULLE_ABI::factor {
namespace {

// Columns of G, on the host.
struct Columns {
    Buffer<offset_t> row_begin;
    std::vector<index_t> col;
};

// An entry beside the diagonal and how much it matters: a_ij^2 / a_jj, the same for every scale of row i.
struct Candidate {
    index_t col;
    double weight;
};

// The heaviest of a row, by columns; equal weights: the last columns.
void keep_heaviest(std::vector<Candidate>& row, std::size_t most)
{
    std::nth_element(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(most), row.end(),
                     [](const Candidate& a, const Candidate& b) {
                         return a.weight != b.weight ? a.weight > b.weight : a.col > b.col;
                     });
    row.resize(most);
    std::sort(row.begin(), row.end(), [](const Candidate& a, const Candidate& b) { return a.col < b.col; });
}

template <class V>
Columns shorten_rows(const CpuQueue& host, const PatternView& p, const V* value)
{
    Columns c{Buffer<offset_t>(host, offset_t{p.rows} + 1), {}};
    std::vector<Candidate> row;
    c.row_begin.data()[0] = 0;
    for (index_t i = 0; i < p.rows; ++i) {
        row.clear();
        for (offset_t k = p.row_begin[i]; k < p.diagonal[i]; ++k) {
            const double v = static_cast<double>(value_at(p, value, k));
            const double d = magnitude(static_cast<double>(value_at(p, value, p.diagonal[p.col[k]])));
            row.push_back({p.col[k], v * v / (d > 0 ? d : 1)});
        }
        if (row.size() + 1 > most_fsai_entries) keep_heaviest(row, most_fsai_entries - 1);
        for (const Candidate& r : row) c.col.push_back(r.col);
        c.col.push_back(i);
        c.row_begin.data()[i + 1] = std::ssize(c.col);
    }
    return c;
}

offset_t count_shortened(const PatternView& p)
{
    offset_t count = 0;
    for (index_t i = 0; i < p.rows; ++i) count += p.row_begin[i + 1] - p.row_begin[i] > most_fsai_entries ? 1 : 0;
    return count;
}

// G without values. Where a row is too long, the host chooses.
template <class V>
std::pair<Csr<V>, offset_t> make_factor(const Context& ctx, const CsrView<V>& a, const Pattern& lower)
{
    return ctx.run([&](const auto& q) {
        const offset_t longest = inspect::add_lengths(q, lower.row_begin.data(), lower.rows, 0).longest;
        if (longest <= most_fsai_entries) {
            Csr<V> g = Csr<V>::make(q, lower.rows, lower.rows, lower.nonzeros());
            copy(q, lower.row_begin.data(), g.row_begin.data(), lower.row_begin.size());
            copy(q, lower.col.data(), g.col.data(), lower.col.size());
            return std::pair{std::move(g), offset_t{0}};
        }
        const Csr<V> here = to_host(ctx, a);
        const Pattern all = find_pattern(ctx.host(), here.view(), {.kind = Kind::ic0});
        const Columns columns = shorten_rows(ctx.host(), view_of(all), here.value.data());
        Csr<V> g = Csr<V>::make(q, lower.rows, lower.rows, std::ssize(columns.col));
        upload(q, columns.row_begin.data(), g.row_begin.data(), columns.row_begin.size());
        upload(q, columns.col.data(), g.col.data(), std::ssize(columns.col));
        return std::pair{std::move(g), count_shortened(view_of(all))};
    });
}

}  // namespace

template <class V>
Fsai<V>::Fsai(const Context& ctx, const CsrView<V>& a) : ctx_(ctx),
                                                         lower_(find_pattern_on(ctx, a, {.kind = Kind::ic0}))
{
    std::tie(g_, shortened_) = make_factor(ctx, a, lower_);
    work_ = ctx.run([&](const auto& q) { return Buffer<V>(q, a.rows); });
    fill(a);
    transposed_ = transpose(ctx, g_.view(), &source_);
    first_ = spmv::Plan<V>::make(ctx, g_.view(), {.checked = false});
    second_ = spmv::Plan<V>::make(ctx, transposed_.view(), {.checked = false});
}

template <class V>
void Fsai<V>::fill(const CsrView<V>& a)
{
    const trace::Phase phase{"approximate inverse"};
    const FirstBreakdown found =
        ctx_.run([&](const auto& q) { return invert_rows(q, view_of(lower_), a.value, g_.view(), g_.value.data()); });
    require<ValueError>(
        found.why == Breakdown::none,
        [&] { return concat("row ", found.row, ": the matrix of its neighbours is not positive definite"); },
        "is the matrix symmetric and positive definite? Else use ilu0");
}

template <class V>
void Fsai<V>::apply(std::span<const V> r, std::span<V> z)
{
    first_->run(r, work_.span());
    second_->run(std::as_const(work_).span(), z);
}

template <class V>
void Fsai<V>::update_values(const CsrView<V>& a)
{
    fill(a);
    ctx_.run([&](const auto& q) {
        matrix::gather(q, std::as_const(g_.value).data(), std::as_const(source_).data(), source_.size(),
                       transposed_.value.data());
    });
    first_->update_values(g_.view());
    second_->update_values(transposed_.view());
}

template <class V>
std::size_t Fsai<V>::bytes() const
{
    return lower_.bytes() + g_.bytes() + transposed_.bytes() + source_.bytes() + work_.bytes() + first_->bytes() +
           second_->bytes();
}

template <class V>
std::string Fsai<V>::describe() const
{
    return concat("fsai on ", ctx_.name(), ": factorised sparse approximate inverse, ",
                  sizeof(V) == 4 ? "float" : "double", "\n  factor:  ", g_.rows, plural(g_.rows, " row, ", " rows, "),
                  g_.nonzeros(), plural(g_.nonzeros(), " entry", " entries"), ", on the lower triangle of the matrix",
                  shortened_ == 0 ? std::string()
                                  : concat("; ", shortened_, plural(shortened_, " row has", " rows have"), " the ",
                                           most_fsai_entries, " largest entries alone"),
                  "\n  order:   the same bits every time, unless a product depends on the number of threads",
                  "\n  keeps:   ", human_bytes(bytes()));
}

template class Fsai<float>;
template class Fsai<double>;

}  // namespace tulle::inline TULLE_ABI::factor
