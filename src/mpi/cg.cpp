// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Conjugate gradients on distributed vectors. Scalars come from reproducible dot products, so they, and all decisions,
// are the same on all ranks; updates of vectors are element by element.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <vector>

#include "device/placed.hpp"
#include "mpi/halo.hpp"
#include "solve/preconditioner.hpp"
#include "tulle/distributed.hpp"
#include "tulle/error.hpp"
#include "tulle/text.hpp"
#include "tulle/transfer.hpp"
#include "vector/vector.hpp"

namespace tulle::inline TULLE_ABI::mpi {
namespace {

using solve::Reason;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// The columns of the diagonal block, numbered as its rows.
template <class V>
Csr<V> diagonal_block(const DistCsr<V>& a)
{
    const CsrView<V> local = a.local();
    const index_t below = a.ghosts_below();
    const auto is_own = [&](index_t j) { return j >= below && j < below + local.rows; };
    const offset_t inside = std::count_if(local.col, local.col + local.nonzeros, is_own);
    Csr<V> block = Csr<V>::make(a.cluster().context().host(), local.rows, local.rows, inside);
    block.sorted = local.sorted;
    block.unique = local.unique;
    offset_t next = 0;
    for (index_t i = 0; i < local.rows; ++i) {
        block.row_begin.data()[i] = next;
        for (offset_t k = local.row_begin[i]; k < local.row_begin[i + 1]; ++k) {
            if (!is_own(local.col[k])) continue;
            block.col.data()[next] = local.col[k] - below;
            block.value.data()[next++] = local.value[k];
        }
    }
    block.row_begin.data()[local.rows] = next;
    return block;
}

// Everything of one solve; vectors are local parts.
template <class V>
class Solve {
public:
    Solve(const DistCsr<V>& a, std::span<const V> b, std::span<V> x, const CgOptions& options)
        : cluster_(a.cluster()),
          options_(options),
          b_(b),
          x_(x),
          product_(SpmvPlan<V>::make(a))
    {
        cluster_.together("cg setup", [&] { prepare(a); });
        if (!options.guess) on_queue([&](const auto& q) { fill_zero(q, x.data(), std::ssize(x)); });
        report_.setup_seconds = seconds_since(begin_);
    }

    solve::Report run()
    {
        const Clock::time_point begin = Clock::now();
        const double norm_b = norm<V>(cluster_, b_);
        report_.target = std::max(options_.stop.absolute, options_.stop.relative * norm_b);
        report_.residual = compute_residual();
        report_.history.push_back(report_.residual);
        if (!std::isfinite(norm_b)) end(Reason::not_finite, "b");
        else if (!std::isfinite(report_.residual)) end(Reason::not_finite, "the first guess");
        else iterate();
        if (report_.reason != Reason::not_finite) verify();
        report_.relative = norm_b > 0 ? report_.residual / norm_b : 0;
        report_.iterate_seconds = seconds_since(begin) - report_.verify_seconds;
        return report_;
    }

private:
    template <class F>
    void on_queue(const F& f) const
    {
        cluster_.context().run(f);
    }

    void prepare(const DistCsr<V>& a)
    {
        const offset_t n = a.local().rows;
        require(std::ssize(b_) == n && std::ssize(x_) == n, [&] {
            return concat("the local parts of b and x have ", b_.size(), " and ", x_.size(), " entries, not ", n);
        });
        const void *known_b = nullptr, *known_x = nullptr;
        require_placed(cluster_.context(), b_.data(), b_.size(), known_b, "b");
        require_placed(cluster_.context(), x_.data(), x_.size(), known_x, "x");
        on_queue([&](const auto& q) {
            for (Buffer<V>* vector : {&r_, &z_, &p_, &q_}) *vector = Buffer<V>(q, n);
        });
        block_ = diagonal_block(a);
        if (n == 0) return;  // a rank without rows has nothing to precondition
        if (cluster_.context().backend() != Backend::cpu) block_ = to_device(cluster_.context(), block_.view());
        block_product_ = std::make_unique<spmv::Plan<V>>(
            spmv::Plan<V>::make(cluster_.context(), block_.view(), {.force = spmv::Policy{spmv::Kernel::rows, 2}}));
        preconditioner_ =
            solve::make_preconditioner(cluster_.context(), block_.view(), *block_product_, options_.preconditioner);
    }

    void end(Reason reason, std::string where = {}, double value = 0)
    {
        report_.reason = reason;
        report_.where = std::move(where);
        report_.value = value;
    }

    // r = b - A x, and its norm.
    double compute_residual()
    {
        product_.run(x_, r_.span());
        axpby(1, b_, -1, r_);
        return norm<V>(cluster_, std::as_const(r_).span());
    }

    void axpby(double alpha, std::span<const V> x, double beta, Buffer<V>& y)
    {
        on_queue([&](const auto& q) { vector::axpby(q, std::ssize(x), alpha, x.data(), beta, y.data()); });
    }

    double precondition()
    {
        if (preconditioner_) preconditioner_->apply(std::as_const(r_).span(), z_.span());
        return dot<V>(cluster_, std::as_const(r_).span(), std::as_const(z_).span());
    }

    void iterate()
    {
        double rz = 0, smallest = report_.residual;
        offset_t since = 0;
        while (report_.residual > report_.target) {
            if (report_.iterations == options_.stop.iterations) return end(Reason::iterations);
            const double before = rz;
            rz = precondition();
            if (!(rz > 0)) return end_with(rz, Reason::preconditioner_indefinite);
            axpby(1, std::as_const(z_).span(), report_.iterations > 0 ? rz / before : 0, p_);
            product_.run(std::as_const(p_).span(), q_.span());
            const double pq = dot<V>(cluster_, std::as_const(p_).span(), std::as_const(q_).span());
            if (!(pq > 0)) return end_with(pq, Reason::not_positive_definite);
            step(rz / pq);
            since = report_.residual < 0.99 * smallest ? 0 : since + 1;
            smallest = std::min(smallest, report_.residual);
            if (!std::isfinite(report_.residual)) return end_with(report_.residual, Reason::diverged);
            if (report_.residual > options_.stop.divergence * report_.history.front()) return end(Reason::diverged);
            if (options_.stop.stagnation > 0 && since >= options_.stop.stagnation) return end(Reason::stagnated);
        }
    }

    void end_with(double value, Reason reason)
    {
        if (std::isfinite(value)) end(reason, {}, value);
        else end(Reason::not_finite, concat("iteration ", report_.iterations), value);
    }

    void step(double alpha)
    {
        on_queue([&](const auto& q) { vector::axpby(q, std::ssize(x_), alpha, p_.data(), 1, x_.data()); });
        axpby(-alpha, std::as_const(q_).span(), 1, r_);
        ++report_.iterations;
        report_.residual = norm<V>(cluster_, std::as_const(r_).span());
        report_.history.push_back(report_.residual);
    }

    // The residual computed anew decides; the recurrence may have drifted by a little.
    void verify()
    {
        constexpr double drift = 1.1;
        const Clock::time_point begin = Clock::now();
        report_.residual = compute_residual();
        report_.history.back() = report_.residual;
        if (report_.reason == Reason::converged && report_.residual > drift * report_.target) end(Reason::stagnated);
        report_.verify_seconds = seconds_since(begin);
    }

    Clock::time_point begin_ = Clock::now();
    Cluster cluster_;
    CgOptions options_;
    std::span<const V> b_;
    std::span<V> x_;
    SpmvPlan<V> product_;
    Csr<V> block_;
    std::unique_ptr<spmv::Plan<V>> block_product_;
    std::unique_ptr<solve::PreconditionerPlan<V>> preconditioner_;
    Buffer<V> r_, z_, p_, q_;
    solve::Report report_;
};

}  // namespace

template <class V>
solve::Report cg(const DistCsr<V>& a, std::span<const std::type_identity_t<V>> b, std::span<std::type_identity_t<V>> x,
                 const CgOptions& options)
{
    require(a.rows() == a.cols(), [&] { return concat("A is ", a.rows(), " x ", a.cols(), ", not square"); });
    require(a.row_cuts() == a.col_cuts(), "columns of A are not distributed as its rows", "leave col_cuts empty");
    return Solve<V>(a, b, x, options).run();
}

template solve::Report cg(const DistCsr<float>&, std::span<const float>, std::span<float>, const CgOptions&);
template solve::Report cg(const DistCsr<double>&, std::span<const double>, std::span<double>, const CgOptions&);

}  // namespace tulle::inline TULLE_ABI::mpi
