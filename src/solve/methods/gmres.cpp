// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "solve/method.hpp"
#include "solve/methods/gmres_scalars.hpp"

namespace tulle::inline TULLE_ABI::solve {
namespace {

template <class V>
class Gmres final : public Iteration<V> {
public:
    Gmres(System<V>& system, int restart, bool flexible)
        : system_(system),
          restart_(restart),
          plain_(system.preconditioner->is_identity()),
          flexible_(flexible && !plain_)
    {
        const offset_t n = system.rows();
        system.ctx.run([&](const auto& q) {
            basis_ = Buffer<V>(q, n * (restart + 1));
            if (!plain_) preconditioned_ = Buffer<V>(q, flexible_ ? n * restart : n);
            if (!plain_ && !flexible_) sum_ = Buffer<V>(q, n);
            w_ = Buffer<V>(q, n);
            doubles_ = Buffer<double>(q, GmresScalars::doubles(restart));
            columns_ = Buffer<int>(q, 1);
            fill_zero(q, basis_.data(), basis_.size());  // iterations enqueued after a halt read vectors never written
        });
        scalars_ = arrange(doubles_.data(), columns_.data(), restart);
    }

    void start(V* x, int) override
    {
        x_ = x;
        done_ = 0;
        system_.pass(GmresStart<V>{system_.residual.data(), basis_.data(), system_.status.data()});
        scalar_step(GmresReset{scalars_, system_.status.data()});
    }

    void iterate() override
    {
        const int count = done_ + 1;
        Status* status = system_.status.data();
        multiply(preconditioned(vector(done_)), w_.data());
        for (const bool second : {false, true}) {
            for (int first = 0; first < count; first += tulle::vector::most_sums)
                system_.pass(
                    GmresDots<V>{basis_.data(), system_.rows(), first, count, w_.data(), scalars_.dots, status});
            system_.pass(GmresSubtract<V>{basis_.data(), system_.rows(), count, w_.data(), second, scalars_, status});
        }
        system_.pass(GmresNext<V>{w_.data(), vector(count), scalars_.length, status});
        ++done_;
    }

    void finish() override
    {
        scalar_step(GmresSolve{scalars_});
        const offset_t n = system_.rows();
        const V* of = flexible_ ? preconditioned_.data() : basis_.data();
        const bool direct = plain_ || flexible_;
        V* to = direct ? x_ : sum_.data();
        system_.pass(GmresCombine<V>{of, n, scalars_.result, scalars_.columns, direct, to});
        if (direct) return;
        system_.precondition(sum_.data(), preconditioned_.data());
        system_.ctx.run([&](const auto& q) {
            tulle::vector::axpby(q, n, 1.0, static_cast<const V*>(preconditioned_.data()), 1.0, x_);
        });
    }

    int place() const override { return done_; }
    void set_place(int place) override { done_ = place; }
    offset_t cycle() const override { return restart_; }
    bool keeps_x() const override { return false; }
    std::size_t bytes() const override
    {
        return basis_.bytes() + preconditioned_.bytes() + sum_.bytes() + w_.bytes() + doubles_.bytes() +
               columns_.bytes();
    }

private:
    V* vector(int k) { return basis_.data() + offset_t{k} * system_.rows(); }
    template <class Op>
    void scalar_step(const Op& op)
    {
        system_.ctx.run([&](const auto& q) { run_scalar_step(q, op); });
    }
    const V* preconditioned(const V* from)
    {
        if (plain_) return from;
        V* to = preconditioned_.data() + (flexible_ ? offset_t{done_} * system_.rows() : 0);
        system_.precondition(from, to);
        return to;
    }
    void multiply(const V* x, V* y)
    {
        const auto n = static_cast<std::size_t>(system_.rows());
        system_.product.run({x, n}, {y, n});
    }

    System<V>& system_;
    int restart_, done_ = 0;
    bool plain_, flexible_;
    Buffer<V> basis_, preconditioned_, sum_, w_;
    Buffer<double> doubles_;
    Buffer<int> columns_;
    GmresScalars scalars_{};
    V* x_ = nullptr;
};

}  // namespace

template <class V>
std::unique_ptr<Iteration<V>> make_gmres(System<V>& system, int restart, bool flexible)
{
    return std::make_unique<Gmres<V>>(system, restart, flexible);
}

template std::unique_ptr<Iteration<float>> make_gmres(System<float>&, int, bool);
template std::unique_ptr<Iteration<double>> make_gmres(System<double>&, int, bool);

}  // namespace tulle::inline TULLE_ABI::solve
