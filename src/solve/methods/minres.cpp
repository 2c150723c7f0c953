// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include <utility>

#include "solve/method.hpp"

namespace tulle::inline TULLE_ABI::solve {
namespace {

template <class V>
class Minres final : public Iteration<V> {
public:
    explicit Minres(System<V>& system)
        : system_(system),
          y_(system.preconditioner->is_identity() ? Buffer<V>{} : system.make_vector()),
          scalars_(system.template make_scalars<MinresScalars>())
    {
        for (Buffer<V>* v : {&v_, &t_, &r1_, &r2_, &w1_, &w2_}) *v = system.make_vector();
    }

    void start(V* x, int) override
    {
        x_ = x;
        const V* r = system_.residual.data();
        if (!y_.empty()) system_.precondition(r, y_.data());
        system_.pass(MinresStart<V>{r, y_.empty() ? r : y_.data(), r1_.data(), r2_.data(), w1_.data(), w2_.data(),
                                    scalars_.data(), system_.status.data()});
    }

    void iterate() override
    {
        MinresScalars* s = scalars_.data();
        Status* status = system_.status.data();
        system_.pass(MinresScale<V>{y_.empty() ? r2_.data() : y_.data(), v_.data(), s, status});
        const auto dots = system_.multiply_with_dots(v_.data(), t_.data());
        system_.pass(MinresLanczos<V>{t_.data(), r1_.data(), r2_.data(), dots, s, status, y_.empty()});
        if (!y_.empty()) {
            system_.precondition(r1_.data(), y_.data());
            system_.pass(MinresPreconditioned<V>{r1_.data(), y_.data(), s, status});
        }
        system_.pass(MinresUpdate<V>{v_.data(), w1_.data(), w2_.data(), x_, s, status});
        swap();
    }

    int place() const override { return swapped_ ? 1 : 0; }
    void set_place(int place) override
    {
        if (place != this->place()) swap();
    }
    std::size_t bytes() const override { return y_.bytes() + 6 * v_.bytes() + scalars_.bytes(); }

private:
    void swap()
    {
        std::swap(r1_, r2_);
        std::swap(w1_, w2_);
        swapped_ = !swapped_;
    }

    System<V>& system_;
    Buffer<V> y_, v_, t_, r1_, r2_, w1_, w2_;
    Buffer<MinresScalars> scalars_;
    bool swapped_ = false;  // r1, r2 and w1, w2
    V* x_ = nullptr;
};

}  // namespace

template <class V>
std::unique_ptr<Iteration<V>> make_minres(System<V>& system)
{
    return std::make_unique<Minres<V>>(system);
}

template std::unique_ptr<Iteration<float>> make_minres(System<float>&);
template std::unique_ptr<Iteration<double>> make_minres(System<double>&);

}  // namespace tulle::inline TULLE_ABI::solve
