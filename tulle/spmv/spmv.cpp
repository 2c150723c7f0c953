// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// The sparse matrix-vector product, from a matrix in any format to y.
//
//   look       shape, format and row lengths of op(A)
//   choose     a kernel (policy.cpp), unless the caller forces one
//   arrange    op(A) as CSR of our own where the policy asks for it; otherwise the caller's arrays are used as they are
//   prepare    the workspace of the kernel
//   run        one kernel; the split kernel adds a short second pass for rows cut between pieces
//
// Merge path: Merrill, Garland, SC'16, doi:10.1109/SC.2016.57. Row kernels with a slice of lanes: Bell, Garland, SC'09,
// doi:10.1145/1654059.1654078. Several devices and partial formats (MSREP) build on these kernels.
#include "tulle/spmv/spmv.hpp"

#include <algorithm>
#include <utility>

#include "tulle/base/math.hpp"
#include "tulle/base/text.hpp"
#include "tulle/base/trace.hpp"
#include "tulle/device/info.hpp"
#include "tulle/matrix/convert.hpp"
#include "tulle/matrix/convert_steps.hpp"
#include "tulle/matrix/validate.hpp"
#include "tulle/spmv/steps.hpp"

namespace tulle::spmv {

template <class V>
struct Plan<V>::State {
    Context ctx;
    AnyView<V> a;                        // the caller's
    Options options;
    Traits traits;
    Limits limits;
    Choice choice;
    Csr<V> copy;                         // op(A) by rows, where the policy asks for a copy
    Buffer<offset_t> source;             // for every value of the copy where it stands in the caller's array
    Workspace<V> work;
    const void* known_x = nullptr;       // vectors already found to be in the right memory
    const void* known_y = nullptr;

    bool transposed() const { return options.op == Op::transpose; }
};

namespace {

template <class... F> struct Overloaded : F... { using F::operator()...; };
template <class... F> Overloaded(F...) -> Overloaded<F...>;

template <class V> Format format_of(const AnyView<V>& a) { return static_cast<Format>(a.index()); }

template <class V>
std::pair<index_t, index_t> shape_of(const AnyView<V>& a)
{
    return std::visit([](const auto& m) { return std::pair{m.rows, m.cols}; }, a);
}

template <class V>
offset_t nonzeros_of(const AnyView<V>& a)
{
    return std::visit(Overloaded{[](const BlockedEllView<V>& m) { return m.slots() * m.block * m.block; }, [](const auto& m) { return m.nonzeros; }}, a);
}

// A matrix stored by rows or columns as CSR of what is stored: op(A) itself, or op(A) transposed.
template <class V>
CsrView<V> as_rows(const AnyView<V>& a)
{
    if (const auto* csc = std::get_if<CscView<V>>(&a)) return transposed(*csc);
    return std::get<CsrView<V>>(a);
}

// Coordinates of op(A).
template <class V>
CooView<V> as_entries(const AnyView<V>& a, bool transpose)
{
    const auto& coo = std::get<CooView<V>>(a);
    return transpose ? transposed(coo) : coo;
}

bool stored_by_rows(const Traits& t)
{
    return (t.format == Format::csr && !t.transposed) || (t.format == Format::csc && t.transposed);
}

template <class V>
Traits look(const Context& ctx, const AnyView<V>& a, const Options& options, bool reused)
{
    const auto [rows, cols] = shape_of(a);
    const bool transpose = options.op == Op::transpose;
    Traits t{.format = format_of(a), .transposed = transpose, .deterministic = ctx.is_deterministic(), .reused = reused};
    t.row = {.rows = transpose ? cols : rows, .cols = transpose ? rows : cols, .nonzeros = nonzeros_of(a)};
    if (t.format == Format::coo) t.sorted_by_row = as_entries(a, transpose).order == CooOrder::by_row;
    if (stored_by_rows(t)) {
        const CsrView<V> m = as_rows(a);
        t.row = row_statistics(ctx, m.rows, m.cols, m.row_begin);
    }
    return t;
}

// Coordinates by row: nothing but row_begin where they are in that order already, a copy with its sources otherwise.
template <class V>
Csr<V> rows_of_entries(const Context& ctx, const CooView<V>& a, Buffer<offset_t>& source)
{
    return ctx.run([&](const auto& q) {
        Csr<V> csr{.rows = a.rows, .cols = a.cols, .row_begin = {}, .col = {}, .value = {}, .sorted = false, .unique = a.unique};
        if (a.order == CooOrder::by_row) {
            csr.row_begin = Buffer<offset_t>(q, offset_t{a.rows} + 1);
            matrix::compress_rows(q, a.row, a.nonzeros, a.rows, csr.row_begin.data());
            return csr;
        }
        matrix::Groups by_row = matrix::group(q, a.row, a.nonzeros, a.rows);
        csr.row_begin = std::move(by_row.begin);
        csr.col = Buffer<index_t>(q, a.nonzeros);
        csr.value = Buffer<V>(q, a.nonzeros);
        matrix::gather(q, a.col, by_row.source.data(), a.nonzeros, csr.col.data());
        matrix::gather(q, a.value, by_row.source.data(), a.nonzeros, csr.value.data());
        source = std::move(by_row.source);
        return csr;
    });
}

// op(A) by rows, in memory of our own, and where its values come from (not for blocks, whose zeros are left out).
template <class V>
Csr<V> copy_by_rows(const Context& ctx, const AnyView<V>& a, bool transpose, Buffer<offset_t>& source)
{
    if (std::holds_alternative<CooView<V>>(a)) return rows_of_entries(ctx, as_entries(a, transpose), source);
    if (const auto* bell = std::get_if<BlockedEllView<V>>(&a)) {
        Csr<V> csr = to_csr(ctx, *bell);
        return transpose ? tulle::transpose(ctx, csr.view()) : std::move(csr);
    }
    return tulle::transpose(ctx, as_rows(a), &source);
}

// op(A) by rows: the caller's arrays, or ours, or our row_begin over the caller's coordinates.
template <class State>
auto rows_of(const State& s)
{
    if (!s.choice.policy.copy) return as_rows(s.a);
    auto rows = s.copy.view();
    if (s.traits.sorted_by_row) {
        const auto entries = as_entries(s.a, s.transposed());
        rows.nonzeros = entries.nonzeros;
        rows.col = entries.col;
        rows.value = entries.value;
    }
    return rows;
}

// The pieces of the split kernel, at least one, and room for what each carries to the next.
template <class Queue, class V>
void prepare_split(const Queue& q, const CsrView<V>& a, Workspace<V>& work)
{
    const offset_t pieces = std::max(offset_t{1}, ceil_div(a.rows + a.nonzeros, steps_per_piece(q)));
    work.point = Buffer<prim::MergePoint>(q, pieces + 1);
    work.carry = Buffer<V>(q, pieces);
    prim::merge_path(q, a.row_begin, a.rows, a.nonzeros, pieces, work.point.data());
}

template <class State>
void prepare(State& s)
{
    const trace::Phase phase{"prepare"};
    s.ctx.run([&](const auto& q) {
        const Policy& p = s.choice.policy;
        if (p.kernel == Kernel::split) prepare_split(q, rows_of(s), s.work);
        if (p.kernel == Kernel::scatter || p.kernel == Kernel::entries || (p.kernel == Kernel::blocks && s.transposed()))
            prepare_scatter(q, s.traits.row.rows, s.work);
    });
}

// Vectors must be where the work is done; asked once per address.
template <class State, class V>
void require_placed(const State& s, const V* data, const void* known, std::string_view name)
{
    if constexpr (build::has_cuda) {
        if (data == nullptr || data == known) return;
        s.ctx.run(Overloaded{[](const CpuQueue&) {},
                             [&](const CudaQueue& q) {
                                 require<DeviceError>(cuda::is_device_pointer(data, q.device),
                                                      [&] { return concat(name, " is not in the memory of ", s.ctx.name()); },
                                                      "bring it there with tulle::to_device(ctx, …)");
                             }});
    }
    (void)s, (void)data, (void)known, (void)name;
}

template <class State, class V>
void require_vectors(State& s, std::span<const V> x, std::span<V> y)
{
    const RowStatistics& op = s.traits.row;
    require(std::ssize(x) == op.cols, [&] { return concat("x has ", x.size(), " entries, but op(A) has ", op.cols, " columns"); });
    require(std::ssize(y) == op.rows, [&] { return concat("y has ", y.size(), " entries, but op(A) has ", op.rows, " rows"); });
    const bool apart = x.empty() || y.empty() || x.data() + x.size() <= y.data() || y.data() + y.size() <= x.data();
    require<ValueError>(apart, "x and y overlap", "give y memory of its own");
    require_placed(s, x.data(), s.known_x, "x");
    require_placed(s, static_cast<const V*>(y.data()), s.known_y, "y");
    s.known_x = x.data();
    s.known_y = y.data();
}

template <class Queue, class State, class V>
void run_on(const Queue& q, const State& s, const Vectors<V>& v)
{
    const Policy& p = s.choice.policy;
    switch (p.kernel) {
    case Kernel::rows: return multiply_rows(q, rows_of(s), p.lanes, v);
    case Kernel::split: return multiply_split(q, rows_of(s), s.work, v);
    case Kernel::scatter: return multiply_scatter(q, as_rows(s.a), s.work, v);
    case Kernel::entries: return multiply_entries(q, as_entries(s.a, s.transposed()), s.work, v);
    case Kernel::blocks:
        if (s.transposed()) return multiply_blocks_transposed(q, std::get<BlockedEllView<V>>(s.a), s.work, v);
        return multiply_blocks(q, std::get<BlockedEllView<V>>(s.a), v);
    }
}

template <class State, class V>
std::unique_ptr<State> make_state(const Context& ctx, const AnyView<V>& a, const Options& options, bool reused)
{
    if (options.checked) {
        const trace::Phase phase{"validate"};
        std::visit([&](const auto& m) { check(ctx, m); }, a);
    }
    auto s = std::make_unique<State>(State{.ctx = ctx, .a = a, .options = options, .traits = {}, .limits = {}, .choice = {}, .copy = {}, .source = {}, .work = {}});
    s->limits = {.backend = ctx.backend(), .threads = ctx.host().threads};
    {
        const trace::Phase phase{"look"};
        s->traits = look(ctx, a, options, reused);
    }
    if (options.force) check_policy(*options.force, s->traits, s->limits);
    if (options.force ? options.force->copy : wants_copy(s->traits, s->limits)) {
        const trace::Phase phase{"arrange"};
        s->copy = copy_by_rows(ctx, a, s->transposed(), s->source);
        s->traits.row = row_statistics(ctx, s->copy.rows, s->copy.cols, s->copy.row_begin.data());
    }
    s->choice = options.force ? Choice{*options.force, "asked for by the caller"} : choose(s->traits, s->limits);
    prepare(*s);
    return s;
}

template <class State, class V>
void run_state(State& s, V alpha, std::span<const V> x, V beta, std::span<V> y)
{
    require_vectors(s, x, y);
    if (y.empty()) return;
    s.ctx.run([&](const auto& q) { run_on(q, s, Vectors<V>{alpha, x.data(), beta, y.data()}); });
}

}  // namespace

template <class V> Plan<V>::Plan(std::unique_ptr<State> state) : state_(std::move(state)) {}
template <class V> Plan<V>::Plan(Plan&&) noexcept = default;
template <class V> Plan<V>& Plan<V>::operator=(Plan&&) noexcept = default;
template <class V> Plan<V>::~Plan() = default;

template <class V>
Plan<V> Plan<V>::make(const Context& ctx, const AnyView<V>& a, const Options& options)
{
    return Plan(make_state<State>(ctx, a, options, true));
}

template <class V>
void Plan<V>::run(V alpha, std::span<const V> x, V beta, std::span<V> y) const
{
    run_state(*state_, alpha, x, beta, y);
}

template <class V>
void Plan<V>::update_values(const AnyView<V>& a)
{
    State& s = *state_;
    require<PlanMismatch>(a.index() == s.a.index(), [&] { return concat("the plan is for ", to_text(s.traits.format), ", the new matrix is ", to_text(format_of(a))); });
    require<PlanMismatch>(shape_of(a) == shape_of(s.a) && nonzeros_of(a) == nonzeros_of(s.a), [&] {
        const auto [rows, cols] = shape_of(s.a);
        const auto [new_rows, new_cols] = shape_of(a);
        return concat("the plan is for ", rows, " x ", cols, " with ", nonzeros_of(s.a), " stored values, the new matrix is ", new_rows, " x ", new_cols, " with ",
                      nonzeros_of(a));
    });
    if (s.choice.policy.copy && s.traits.format == Format::blocked_ell) {
        s.copy = copy_by_rows(s.ctx, a, s.transposed(), s.source);
        prepare(s);
    }
    s.a = a;
    if (!s.choice.policy.copy || s.traits.sorted_by_row || s.traits.format == Format::blocked_ell) return;
    const V* value = s.traits.format == Format::coo ? std::get<CooView<V>>(a).value : as_rows(a).value;
    s.ctx.run([&](const auto& q) { matrix::gather(q, value, s.source.data(), s.copy.nonzeros(), s.copy.value.data()); });
}

template <class V>
const Policy& Plan<V>::policy() const
{
    return state_->choice.policy;
}

template <class V>
std::size_t Plan<V>::bytes() const
{
    return state_->copy.bytes() + state_->source.bytes() + state_->work.bytes();
}

template <class V> index_t Plan<V>::rows() const { return state_->traits.row.rows; }
template <class V> index_t Plan<V>::cols() const { return state_->traits.row.cols; }

template <class V>
std::string Plan<V>::describe() const
{
    const State& s = *state_;
    std::string others;
    for (const Policy& p : candidates(s.traits, s.limits))
        if (p != s.choice.policy) others += (others.empty() ? "" : "; ") + to_text(p);
    const bool scatters = !s.choice.policy.copy && (s.choice.policy.kernel == Kernel::scatter || s.choice.policy.kernel == Kernel::entries ||
                                                    (s.choice.policy.kernel == Kernel::blocks && s.transposed()));
    return concat("spmv on ", s.ctx.name(), ": ", rows(), " x ", cols(), ", ", s.traits.row.nonzeros, " stored values, ", to_text(s.traits.format),
                  s.transposed() ? " transposed" : "", sizeof(V) == 4 ? ", float" : ", double", "\n  chosen: ", to_text(s.choice.policy), "\n  why:    ", s.choice.why,
                  "\n  order:  ", scatters && (s.limits.backend == Backend::cuda || s.limits.threads > 1) ? "adds in no fixed order" : "the same bits every time",
                  "\n  keeps:  ", human_bytes(bytes()), " beside the matrix", "\n  also possible: ", others.empty() ? "nothing else" : others);
}

template <class V>
void Plan<V>::once(const Context& ctx, const AnyView<V>& a, V alpha, std::span<const V> x, V beta, std::span<V> y, const Options& options)
{
    run_state(*make_state<State>(ctx, a, options, false), alpha, x, beta, y);
}

template class Plan<float>;
template class Plan<double>;

}  // namespace tulle::spmv
