// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "solve/methods/block_cg.hpp"

#include <algorithm>
#include <cmath>

#include "solve/scaling.hpp"
#include "tulle/trace.hpp"

namespace tulle::inline TULLE_ABI::solve {

template <class V>
void load_column(System<V>& system, const DenseView<const V>& from, index_t column, Buffer<V>& to)
{
    system.ctx.run([&](const auto& q) {
        run_block_pass(q, system.rows(), ColumnLoad<V>{readable<V>(from), column, to.data()}, {});
    });
}

template <class V>
void store_column(System<V>& system, const Buffer<V>& from, const DenseView<V>& to, index_t column)
{
    system.ctx.run([&](const auto& q) {
        run_block_pass(q, system.rows(), ColumnStore<V>{from.data(), to, column}, {});
    });
}

template <class V>
BlockCg<V>::BlockCg(System<V>& system, const CsrView<V>& a, bool graphs)
    : system_(system),
      product_(spmm::Plan<V>::make(system.ctx, a, {.n = block_columns, .checked = false})),
      blocks_(graphs, system.preconditioner->waits())
{
    const offset_t size = offset_t{a.rows} * block_columns;
    const PreconditionerPlan<V>& m = *system.preconditioner;
    system.ctx.run([&](const auto& q) {
        buffer_ = vector::PassBuffer(q, a.rows);
        for (Buffer<V>* v : {&x_, &r_, &p_, &q_}) *v = Buffer<V>(q, size);
        if (!m.is_identity()) z_ = Buffer<V>(q, size);
        column_ = Buffer<V>(q, a.rows);
        preconditioned_ = Buffer<V>(q, a.rows);
        dots_ = Buffer<double>(q, block_columns);
        status_ = Buffer<Status>(q, block_columns);
    });
    scalars_ = system.template make_scalars<CgScalars>(block_columns);
}

template <class V>
std::size_t BlockCg<V>::bytes() const
{
    return product_.bytes() + buffer_.bytes() + 4 * x_.bytes() + z_.bytes() + 2 * column_.bytes() + dots_.bytes() +
           scalars_.bytes() + status_.bytes();
}

template <class V>
std::array<double, block_columns> BlockCg<V>::norms(const Buffer<V>& block)
{
    pass(BlockDots<V>{block.data(), block.data(), dots_.data()});
    std::array<double, block_columns> square{};
    system_.ctx.run([&](const auto& q) { download(q, dots_.data(), square.data(), block_columns); });
    for (double& v : square) v = std::sqrt(v);
    return square;
}

// r = b - A x.
template <class V>
void BlockCg<V>::compute_residual(const DenseView<const V>& b, index_t first, index_t count, bool zero)
{
    pass(BlockLoad<V>{readable<V>(b), first, count, r_.data()});
    if (!zero) product_.run(V(-1), view(x_), V(1), view(r_));
}

// z = M r, column by column where M is not a diagonal.
template <class V>
void BlockCg<V>::precondition()
{
    if (z_.empty()) return;
    for (index_t c = 0; c < block_columns; ++c) {
        load_column<V>(system_, view(r_), c, column_);
        system_.precondition(column_.data(), preconditioned_.data());
        store_column<V>(system_, preconditioned_, view(z_), c);
    }
}

template <class V>
void BlockCg<V>::start(const std::vector<BlockColumn>& columns, const Stop& stop)
{
    std::array<Status, block_columns> status{};
    double largest = 0;
    for (std::size_t c = 0; c < block_columns; ++c) {
        Status& s = status[c];
        if (c >= columns.size()) s.halt = Halt::target;
        else {
            s.norm = columns[c].residual;
            const bool ordinary = is_ordinary<V>(columns[c].b_norm);
            if (ordinary && std::isfinite(s.norm)) largest = std::max(largest, s.norm);
            s.target = columns[c].target;
            s.limit = stop.divergence * columns[c].residual;
            if (!ordinary || !(s.norm > s.target)) s.halt = std::isfinite(s.norm) ? Halt::target : Halt::not_finite;
        }
    }
    system_.ctx.run([&](const auto& q) { upload(q, status.data(), status_.data(), block_columns); });
    system_.preconditioner->begin(largest);
    precondition();
    pass(BlockCgStart<V>{r_.data(), z(), p_.data(), scalars_.data(), status_.data()});
}

template <class V>
void BlockCg<V>::iterate()
{
    product_.run(V(1), view(p_), V(0), view(q_));
    pass(BlockDots<V>{p_.data(), q_.data(), dots_.data()});
    const V* inverse = system_.preconditioner->inverse_diagonal();
    const bool complete = z_.empty() || inverse != nullptr;
    pass(BlockCgResidual<V>{q_.data(), r_.data(), inverse, z_.data(), complete, dots_.data(), scalars_.data(),
                            status_.data()});
    if (!complete) {
        precondition();
        pass(BlockCgPreconditioned<V>{r_.data(), z_.data(), scalars_.data(), status_.data()});
    }
    pass(BlockCgDirection<V>{x_.data(), z(), p_.data(), scalars_.data(), status_.data()});
}

// The host's look; whether a column goes on.
template <class V>
bool BlockCg<V>::look(std::vector<BlockColumn>& columns, const BlockLimits& limits) const
{
    std::array<Status, block_columns> status{};
    system_.ctx.run([&](const auto& q) { download(q, status_.data(), status.data(), block_columns); });
    bool on = false;
    double worst = 0;
    for (std::size_t c = 0; c < columns.size(); ++c) {
        const Status& s = status[c];
        std::vector<double>& history = columns[c].history;  // begins before the first iteration
        for (offset_t k = std::ssize(history) - 1; k < s.iterations; ++k) history.push_back(s.history[k % most_unseen]);
        columns[c].halt = s.halt;
        on = on || s.halt == Halt::none;
        if (columns[c].target > 0) worst = std::max(worst, s.norm / columns[c].target);
    }
    if (limits.observe) limits.observe(worst);
    return on;
}

template <class V>
std::vector<BlockColumn> BlockCg<V>::solve(const DenseView<const V>& b, const DenseView<V>& x, index_t first,
                                           bool guess, const BlockLimits& limits)
{
    const index_t count = std::min<index_t>(block_columns, b.cols - first);
    std::vector<BlockColumn> columns(static_cast<std::size_t>(count));
    pass(BlockLoad<V>{readable<V>(b), first, count, r_.data()});
    const auto b_norm = norms(r_);
    if (guess) pass(BlockLoad<V>{readable<V>(x), first, count, x_.data()});
    else system_.ctx.run([&](const auto& q) { fill_zero(q, x_.data(), x_.size()); });
    compute_residual(b, first, count, !guess);
    const auto at_start = norms(r_);
    for (std::size_t c = 0; c < columns.size(); ++c) {
        columns[c] = {b_norm[c],
                      at_start[c],
                      std::max(*limits.stop.relative * b_norm[c], limits.stop.absolute),
                      Halt::none,
                      {at_start[c]}};
    }
    start(columns, limits.stop);
    for (offset_t done = 0; look(columns, limits) && done < limits.stop.iterations && trace::now() < limits.deadline;) {
        const offset_t block = std::min<offset_t>(limits.check_every, limits.stop.iterations - done);
        blocks_.run(system_.ctx, *this, block);
        done += block;
    }
    compute_residual(b, first, count, false);
    const auto at_end = norms(r_);
    for (std::size_t c = 0; c < columns.size(); ++c) columns[c].residual = columns[c].history.back() = at_end[c];
    pass(BlockStore<V>{x_.data(), x, first, count});
    return columns;
}

template void load_column(System<float>&, const DenseView<const float>&, index_t, Buffer<float>&);
template void load_column(System<double>&, const DenseView<const double>&, index_t, Buffer<double>&);
template void store_column(System<float>&, const Buffer<float>&, const DenseView<float>&, index_t);
template void store_column(System<double>&, const Buffer<double>&, const DenseView<double>&, index_t);
template class BlockCg<float>;
template class BlockCg<double>;

}  // namespace tulle::inline TULLE_ABI::solve
