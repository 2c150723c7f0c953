// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/amg_level.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "amg/steps.hpp"
#include "base/hash.hpp"
#include "mpi/dots.hpp"
#include "mpi/halo.hpp"
#include "solve/parts/part.hpp"
#include "tulle/text.hpp"
#include "tulle/transfer.hpp"
#include "vector/vector.hpp"

namespace tulle::inline TULLE_ABI::mpi {
namespace {

// --- Diagonal and bounds ---

// Adds what the diagonal block does not have: entries in columns of other ranks.
template <class V>
void add_ghosts(const DistCsr<V>& a, const V* diagonal, V* bound, index_t* problem)
{
    const CsrView<V> local = a.local();
    for (index_t i = 0; i < local.rows; ++i) {
        V sum = 0;
        for (offset_t k = local.row_begin[i]; k < local.row_begin[i + 1]; ++k) {
            const index_t j = local.col[k] - a.ghosts_below();
            if (j < 0 || j >= local.rows) sum += std::abs(local.value[k]);
        }
        if (!std::isfinite(sum)) problem[i] = 3;
        if (diagonal[i] > V(0)) bound[i] += sum / diagonal[i];
    }
}

void refuse_problems(const Buffer<index_t>& problem, global_t first_row)
{
    const index_t *const begin = problem.data(), *const end = begin + problem.size();
    const index_t* const row = std::find_if(begin, end, [](index_t p) { return p > 0; });
    require<ValueError>(
        row == end, [&] { return concat("row ", first_row + (row - begin), amg::problem_text(*row)); },
        "AMG needs a symmetric positive definite matrix");
}

// The diagonal block and its diagonal, on the host.
template <class V>
AmgSetup<V> find_diagonal(const DistCsr<V>& a, bool finest)
{
    const CpuQueue host = a.cluster().context().host();
    const index_t n = a.local().rows;
    AmgSetup<V> setup;
    setup.block = solve::parts::diagonal_block<V>(host, {a.local(), a.ghosts_below()});
    amg::LevelRows<V>& rows = setup.rows;
    rows.a = setup.block.view();
    rows.diagonal = Buffer<V>(host, n);
    rows.bound = Buffer<V>(host, n);
    Buffer<index_t> problem(host, n);
    amg::for_each(host, n, amg::InspectRow<V>{rows.a, rows.diagonal.data(), rows.bound.data(), problem.data()});
    add_ghosts(a, rows.diagonal.data(), rows.bound.data(), problem.data());
    rows.positive = std::all_of(problem.data(), problem.data() + n, [](index_t p) { return p == 0; });
    if (finest) refuse_problems(problem, a.row_cuts()[rank_of(a.cluster())]);
    return setup;
}

// D^-1, in the memory of the context.
template <class V>
Buffer<V> invert(const Context& ctx, const amg::LevelRows<V>& rows, bool l1)
{
    Buffer<V> inverse(ctx.host(), rows.rows());
    amg::for_each(ctx.host(), rows.rows(),
                  amg::InvertDiagonal<V>{rows.diagonal.data(), rows.bound.data(), l1, inverse.data()});
    return to_device(ctx, std::as_const(inverse).span());
}

template <class V>
double largest_bound(const Cluster& cluster, const Buffer<V>& bound)
{
    const V* const end = bound.data() + bound.size();
    const V* const mine = std::max_element(bound.data(), end);
    return reduce(cluster, amg_phase, mine == end ? 0.0 : static_cast<double>(*mine),
                  [](double x, double y) { return std::max(x, y); });
}

// --- The spectral radius of D^-1 A: Lanczos in the inner product of D ---

// w has norm one, image is D w, before the image of the step before.
template <class V>
class Lanczos {
public:
    explicit Lanczos(AmgLevelData<V>& level) : level_(level), ctx_(level.whole.cluster().context()) {}

    // May throw on one rank alone.
    void start(const Buffer<V>& diagonal)
    {
        const global_t first = level_.whole.row_cuts()[rank_of(level_.whole.cluster())];
        Buffer<V> image(ctx_.host(), diagonal.size());
        for (offset_t i = 0; i < image.size(); ++i)
            image.data()[i] = diagonal.data()[i] * static_cast<V>(2 * unit(hash_of(1, first + i)) - 1);
        image_ = to_device(ctx_, std::as_const(image).span());
        ctx_.run([&](const auto& q) {
            for (Buffer<V>* b : {&w_, &before_, &y_}) *b = Buffer<V>(q, diagonal.size());
        });
    }

    double largest()
    {
        std::array<double, amg::lanczos_steps> alpha{}, beta{};
        int steps = 0;
        double norm = normalize();
        while (steps < amg::lanczos_steps && std::isfinite(norm) && norm > least * std::abs(alpha[0])) {
            level_.multiply->run(std::as_const(w_).span(), y_.span());
            alpha[at(steps)] = mpi::dot<V>(cluster(), std::as_const(w_).span(), std::as_const(y_).span());
            add(-alpha[at(steps)], image_, 1, y_);
            if (steps > 0) add(-beta[at(steps - 1)], before_, 1, y_);
            std::swap(before_, image_);
            std::swap(image_, y_);
            norm = normalize();
            beta[at(steps++)] = norm;
        }
        return steps == 0 ? 0 : amg::largest_eigenvalue(alpha.data(), beta.data(), steps);
    }

private:
    static constexpr double least = 1e-8;
    static std::size_t at(int n) { return static_cast<std::size_t>(n); }
    const Cluster& cluster() const { return level_.whole.cluster(); }

    void add(double alpha, const Buffer<V>& x, double beta, Buffer<V>& y) const
    {
        ctx_.run([&](const auto& q) { vector::axpby(q, y.size(), alpha, x.data(), beta, y.data()); });
    }
    // w = D^-1 image, and both divided by the norm of w, which is returned.
    double normalize()
    {
        ctx_.run([&](const auto& q) {
            vector::multiply(q, w_.size(), level_.inverse.data(), std::as_const(image_).data(), w_.data());
        });
        const double norm =
            std::sqrt(std::max(0.0, mpi::dot<V>(cluster(), std::as_const(w_).span(), std::as_const(image_).span())));
        const double scale = norm > 0 ? 1 / norm : 0;
        for (Buffer<V>* b : {&w_, &image_}) add(scale, *b, 0, *b);
        return norm;
    }

    AmgLevelData<V>& level_;
    Context ctx_;
    Buffer<V> w_, image_, before_, y_;
};

// --- Prolongator ---

// P = T - factor D^-1 (A T), in the place of A T.
template <class V>
void smooth_rows(const CpuQueue& q, const DistCsr<V>& tentative, const V* diagonal, V factor, DistCsr<V>& product)
{
    const CsrView<V> t = tentative.local(), at = product.local();
    Buffer<index_t> col(q, t.nonzeros);  // numbered as in A T
    std::transform(t.col, t.col + t.nonzeros, col.data(), [&](index_t j) { return j + product.ghosts_below(); });
    amg::for_each(q, t.rows,
                  amg::SmoothRow<V>{at.row_begin, t.row_begin, at.col, col.data(), t.value, diagonal, factor, at.value,
                                    product.values().data()});
}

// The damping is over the spectral radius. Collective.
template <class V>
void smooth(const AmgLevelData<V>& level, const DistCsr<V>& tentative, double damping, const AmgSetup<V>& setup,
            DistCsr<V>& product)
{
    const Cluster& cluster = level.whole.cluster();
    const double factor = level.spectral_radius > 0 ? damping / level.spectral_radius : 0;
    cluster.run_collective(amg_phase, [&] {
        smooth_rows(cluster.context().host(), tentative, setup.rows.diagonal.data(), static_cast<V>(factor), product);
    });
}

}  // namespace

template <class V>
void AmgLevelData<V>::store_dot(const Context& ctx, const Buffer<V>& x, const Buffer<V>& y, int to)
{
    const double found = mpi::dot<V>(whole.cluster(), x.span(), y.span());
    ctx.run([&](const auto& q) { upload(q, &found, this->krylov->dots.data() + to, 1); });
}

template <class V>
AmgSetup<V> inspect(AmgLevelData<V>& level, const amg::Options& options, bool finest)
{
    const Cluster& cluster = level.whole.cluster();
    const Context& ctx = cluster.context();
    AmgSetup<V> setup;
    if (!level.multiply) level.multiply = SpmvPlan<V>::make(level.whole);
    else cluster.run_collective(amg_phase, [&] { level.multiply->update_values(); });
    Lanczos<V> lanczos(level);
    cluster.run_collective(amg_phase, [&] {
        setup = find_diagonal(level.whole, finest);
        level.inverse = invert(ctx, setup.rows, false);
        lanczos.start(setup.rows.diagonal);
    });
    const double bound = largest_bound(cluster, setup.rows.bound), estimate = lanczos.largest();
    level.spectral_radius = std::min(bound, estimate);
    level.largest = std::min(bound, amg::radius_safety * estimate);
    level.positive = cluster.largest(setup.rows.positive ? 0 : 1) == 0;  // ranks smooth alike
    cluster.run_collective(amg_phase, [&] {
        if (options.smoother == amg::Smoother::l1_jacobi) level.inverse = invert(ctx, setup.rows, true);
        if (options.smoother != amg::Smoother::gauss_seidel) return;
        level.block = to_device(ctx, setup.block.view());
        level.a = level.block.view();
        prepare_triangles(ctx, level);
    });
    return setup;
}

template <class V>
DistCsr<V> aggregate(const AmgLevelData<V>& level, double strength, index_t unknowns, index_t vectors,
                     const AmgSetup<V>& setup, Buffer<V>& near_null)
{
    const Cluster& cluster = level.whole.cluster();
    Csr<V> mine;
    cluster.run_collective(amg_phase, [&] {
        mine = amg::aggregate(cluster.state().host, setup.rows, strength, unknowns, vectors, near_null);
    });
    const Cuts cuts = begins_of(all_gather(cluster, amg_phase, offset_t{mine.cols}));
    return distribute(cluster, std::move(mine), {}, level.whole.row_cuts(), cuts);
}

template <class V>
std::size_t AmgTransfer<V>::bytes() const
{
    std::size_t sum = 0;
    for (const auto* matrix : {&tentative, &image}) sum += *matrix ? (*matrix)->bytes() : 0;
    if (prolongation && (!tentative || prolongation->state() != tentative->state())) sum += prolongation->bytes();
    if (source) sum += source->bytes();
    else if (restriction) sum += restriction->bytes();
    for (const auto* plan : {&product, &right, &left}) sum += *plan ? (*plan)->bytes() : 0;
    for (const auto* plan : {&down, &up}) sum += *plan ? (*plan)->bytes() : 0;
    return sum;
}

template <class V>
std::size_t AmgLevelData<V>::bytes() const
{
    return amg::LevelRows<V>::bytes() + block.bytes() + (multiply ? multiply->bytes() : 0) +
           (direct ? direct->bytes() : 0) + (next ? next->bytes() : 0);
}

template <class V>
DistCsr<V> coarsen(AmgLevelData<V>& level, const DistCsr<V>& tentative, double damping, const AmgSetup<V>& setup,
                   NewValues new_values)
{
    AmgTransfer<V>& t = level.next.emplace();
    const auto release = [&](auto&... part) {
        if (new_values == NewValues::never) (part.reset(), ...);
    };
    t.tentative = t.prolongation = tentative;
    if (damping > 0) {
        t.product = SpgemmPlan<V>::make(level.whole, tentative);
        t.prolongation = t.product->run();
        smooth(level, tentative, damping, setup, *t.prolongation);
    }
    release(t.product, t.tentative);
    t.source.emplace(*t.prolongation);
    t.restriction = t.source->matrix();
    release(t.source);
    t.right = SpgemmPlan<V>::make(level.whole, *t.prolongation);
    t.image = t.right->run();
    release(t.right);
    t.left = SpgemmPlan<V>::make(*t.restriction, *t.image);
    DistCsr<V> coarse = t.left->run();
    release(t.left, t.image);
    t.down = SpmvPlan<V>::make(*t.restriction);
    t.up = SpmvPlan<V>::make(*t.prolongation);
    return coarse;
}

template <class V>
void refill(AmgLevelData<V>& level, double damping, const AmgSetup<V>& setup, DistCsr<V>& coarse)
{
    AmgTransfer<V>& t = *level.next;
    if (t.product) {
        t.product->run(*t.prolongation);
        smooth(level, *t.tentative, damping, setup, *t.prolongation);
        t.source->update_values();
        level.whole.cluster().run_collective(amg_phase, [&] {
            t.down->update_values();
            t.up->update_values();
        });
    }
    t.right->run(*t.image);
    t.left->run(coarse);
}

#define TULLE_LEVEL(V)                                                                                               \
    template struct AmgLevelData<V>;                                                                                 \
    template AmgSetup<V> inspect(AmgLevelData<V>&, const amg::Options&, bool);                                       \
    template DistCsr<V> aggregate(const AmgLevelData<V>&, double, index_t, index_t, const AmgSetup<V>&, Buffer<V>&); \
    template DistCsr<V> coarsen(AmgLevelData<V>&, const DistCsr<V>&, double, const AmgSetup<V>&, NewValues);         \
    template void refill(AmgLevelData<V>&, double, const AmgSetup<V>&, DistCsr<V>&);
TULLE_LEVEL(float)
TULLE_LEVEL(double)
#undef TULLE_LEVEL

}  // namespace tulle::inline TULLE_ABI::mpi
