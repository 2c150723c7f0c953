// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "factor/ssor.hpp"

#include <cmath>
#include <utility>

#include "base/plural.hpp"
#include "prim/search.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI::factor {
namespace {

constexpr const char* instead = "use amg, fsai or ilu0";

template <class V>
void check_arguments(const Context& ctx, const CsrView<V>& a, double weight, Order order)
{
    require<ValueError>(ctx.backend() == Backend::cpu, "ssor is made on a CPU only", instead);
    require<ValueError>(weight > 0 && std::isfinite(weight),
                        [&] { return concat("the weight of ssor is ", weight, ", not a finite number above zero"); });
    require<ValueError>(order != Order::automatic, "ssor has no prices for orders", "name an order, such as +rcm");
    require<ValueError>(
        a.nonzeros <= max_index, [&] { return concat("ssor has no room for ", a.nonzeros, " entries"); }, instead);
}

// The position of each diagonal entry in sorted rows; max_offset where there is none.
template <class V>
Buffer<offset_t> find_diagonal(const CpuQueue& q, const CsrView<V>& a)
{
    Buffer<offset_t> at(q, a.rows);
    for (index_t i = 0; i < a.rows; ++i) {
        const offset_t begin = a.row_begin[i], end = a.row_begin[i + 1];
        const offset_t k = begin + prim::lower_bound(a.col + begin, end - begin, i);
        at.data()[i] = k < end && a.col[k] == i ? k : max_offset;
    }
    return at;
}

}  // namespace

template <class V>
Ssor<V>::Ssor(const Context& ctx, const CsrView<V>& a, double weight, Order order)
    : ctx_(ctx),
      weight_(weight),
      order_(order),
      rows_(a.rows)
{
    check_arguments(ctx, a, weight, order);
    const CpuQueue q = ctx.host();
    if (order != Order::natural) {
        const trace::Phase phase{"arrange"};
        arranged_ = make_arranged(q, a, arrange(q, a, false, order));
        arranged_->value = Buffer<V>(q, a.nonzeros);
        arranged_->work = Buffer<V>(q, a.rows);
    }
    const CsrView<V> m = arranged_ ? arranged_->view() : a;
    if (m.sorted && a.unique) {
        diagonal_ = find_diagonal(q, m);
    } else {
        sorted_ = find_pattern(q, m, {.kind = Kind::ilu0});
        value_ = Buffer<V>(q, a.nonzeros);
    }
    fill(a);
}

// Of the matrix in place of A, if there is one.
template <class V>
PatternView Ssor<V>::entries(const CsrView<V>& m) const
{
    if (diagonal_.empty()) return view_of(sorted_);
    return {rows_, m.row_begin, m.col, diagonal_.data(), nullptr};
}

template <class V>
void Ssor<V>::fill(const CsrView<V>& a)
{
    const trace::Phase phase{"triangles"};
    const CpuQueue q = ctx_.host();
    if (arranged_) gather(q, arranged_->from_matrix, a.value, arranged_->value.data());
    const CsrView<V> m = arranged_ ? arranged_->view() : a;
    const PatternView p = entries(m);
    if (!value_.empty()) load_values(q, p, m.value, 0, false, value_.data());
    const V* const value = value_.empty() ? m.value : std::as_const(value_).data();
    for (index_t i = 0; i < rows_; ++i) {
        const bool is_there = p.diagonal[i] != max_offset;
        const V inverse = is_there ? V(1) / value[p.diagonal[i]] : V(0);
        require<ValueError>(inverse * V(0) == V(0) && inverse != V(0), [&] {
            return concat("row ", arranged_ ? arranged_->from_rhs.index.data()[i] : i, " (counted from 0) has ",
                          is_there ? "a diagonal entry that cannot be inverted" : "no diagonal entry");
        });
    }
    if (!sweeps_) sweeps_.emplace(q, p, SweepForm::split);
    sweeps_->fill(p, value, weight_);
}

template <class V>
void Ssor<V>::apply(std::span<const V> r, std::span<V> z)
{
    if (!arranged_) return sweeps_->apply(r.data(), z.data());
    V* const work = arranged_->work.data();
    load(r.data(), work);
    sweeps_->apply(work, work);
    gather(ctx_.host(), arranged_->to_solution, std::as_const(arranged_->work).data(), z.data());
}

template <class V>
void Ssor<V>::update_values(const CsrView<V>& a)
{
    fill(a);
}

template <class V>
void Ssor<V>::load(const V* r, V* ordered) const
{
    gather(ctx_.host(), arranged_->from_rhs, r, ordered);
}

template <class V>
void Ssor<V>::add(const V* ordered, V* x) const
{
    const offset_t* const from = arranged_->to_solution.index.data();
    for (index_t i = 0; i < rows_; ++i) x[i] += ordered[from[i]];
}

template <class V>
std::size_t Ssor<V>::bytes() const
{
    return (arranged_ ? arranged_->bytes() : 0) + sorted_.bytes() + value_.bytes() + diagonal_.bytes() +
           sweeps_->bytes();
}

template <class V>
std::string Ssor<V>::describe() const
{
    return concat("ssor on ", ctx_.name(), ": symmetric successive over-relaxation, weight ", weight_,
                  sizeof(V) == 4 ? ", float" : ", double", "\n  triangles: those of the matrix, ", rows_,
                  plural(rows_, " row", " rows"), ", by one thread",
                  arranged_ ? concat("\n  unknowns: order ", to_text(order_)) : "",
                  "\n  order:   the same bits every time\n  keeps:   ", human_bytes(bytes()));
}

template class Ssor<float>;
template class Ssor<double>;

}  // namespace tulle::inline TULLE_ABI::factor
