// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Every public function refuses every malformed view before it touches it: all functions x all malformations x all
// formats, checked and unchecked.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/backends.hpp"
#include "support/host_matrix.hpp"
#include "tulle/tulle.hpp"

namespace tulle::test {
namespace {

using V = double;

// A lower triangle with a full diagonal, so that every operation can work with it, on the host and where the context
// works, in every format.
struct Matrices {
    explicit Matrices(const Context& c)
        : csr(to_csr(host, triangle().view())),
          csc(to_csc(host, triangle().view())),
          coo(to_coo(host, triangle().view())),
          ell(to_blocked_ell(host, triangle().view(), 2)),
          dense(to_dense(host, triangle().view())),
          csr_there(to_device(c, csr.view())),
          csc_there(to_device(c, csc.view())),
          coo_there(to_device(c, coo.view())),
          ell_there(to_device(c, ell.view())),
          dense_there(to_device<V>(c, std::as_const(dense.data).span()))
    {
        for (const offset_t k : csr.row_begin.span()) narrow.push_back(static_cast<std::int32_t>(k));
        narrow_there = to_device<std::int32_t>(c, narrow);
    }

    static const HostCsr<V>& triangle()
    {
        static const auto a =
            csr_of<V>(4, 4, {{0, 0, 2.0}, {1, 0, 1.0}, {1, 1, 2.0}, {2, 2, 2.0}, {3, 1, 1.0}, {3, 3, 2.0}});
        return a;
    }

    // Where the call wants its arrays.
    template <class View>
    View view(bool on_host) const;

    Context host = Context::cpu(1);
    Csr<V> csr;
    Csc<V> csc;
    Coo<V> coo;
    BlockedEll<V> ell;
    Dense<V> dense;
    Csr<V> csr_there;
    Csc<V> csc_there;
    Coo<V> coo_there;
    BlockedEll<V> ell_there;
    Buffer<V> dense_there;
    std::vector<std::int32_t> narrow;
    Buffer<std::int32_t> narrow_there;
};

template <>
CsrView<V> Matrices::view(bool on_host) const
{
    return on_host ? csr.view() : csr_there.view();
}
template <>
CscView<V> Matrices::view(bool on_host) const
{
    return on_host ? csc.view() : csc_there.view();
}
template <>
CooView<V> Matrices::view(bool on_host) const
{
    return on_host ? coo.view() : coo_there.view();
}
template <>
BlockedEllView<V> Matrices::view(bool on_host) const
{
    return on_host ? ell.view() : ell_there.view();
}
template <>
Csr32View<V> Matrices::view(bool on_host) const
{
    const auto a = view<CsrView<V>>(on_host);
    return {a.rows, a.cols, a.nonzeros, on_host ? narrow.data() : narrow_there.data(), a.col, a.value};
}
template <>
DenseView<const V> Matrices::view(bool on_host) const
{
    return {4, 4, 4, Layout::row_major, on_host ? dense.data.data() : dense_there.data()};
}

// ---- malformations

template <class View>
struct Malformation {
    std::string name;
    void (*apply)(View&);
    bool needs_content = false;  // a GPU would have to wait for it: seen by checked calls only
};

template <class View>
std::vector<Malformation<View>> sizes()
{
    return {{"rows of -1", [](View& a) { a.rows = -1; }},
            {"columns of -1", [](View& a) { a.cols = -1; }},
            {"rows of -2^31", [](View& a) { a.rows = -max_index - 1; }}};
}

template <class View>
std::vector<Malformation<View>> nonzeros()
{
    auto all = sizes<View>();
    all.push_back({"nonzeros of -1", [](View& a) { a.nonzeros = -1; }});
    all.push_back({"null value", [](View& a) { a.value = nullptr; }});
    return all;
}

template <class View>
std::vector<Malformation<View>> malformations();

template <>
std::vector<Malformation<CsrView<V>>> malformations()
{
    using View = CsrView<V>;
    auto all = nonzeros<View>();
    all.push_back({"null row_begin", [](View& a) { a.row_begin = nullptr; }});
    all.push_back({"null col", [](View& a) { a.col = nullptr; }});
    all.push_back({"nonzeros that row_begin does not end at", [](View& a) { --a.nonzeros; }, true});
    return all;
}

template <>
std::vector<Malformation<Csr32View<V>>> malformations()
{
    using View = Csr32View<V>;
    auto all = nonzeros<View>();
    all.push_back({"null row_begin", [](View& a) { a.row_begin = nullptr; }});
    all.push_back({"null col", [](View& a) { a.col = nullptr; }});
    all.push_back({"nonzeros that row_begin does not end at", [](View& a) { --a.nonzeros; }, true});
    all.push_back({"more nonzeros than 32 bits count", [](View& a) { a.nonzeros = offset_t{1} << 31; }});
    return all;
}

template <>
std::vector<Malformation<CscView<V>>> malformations()
{
    using View = CscView<V>;
    auto all = nonzeros<View>();
    all.push_back({"null col_begin", [](View& a) { a.col_begin = nullptr; }});
    all.push_back({"null row", [](View& a) { a.row = nullptr; }});
    all.push_back({"nonzeros that col_begin does not end at", [](View& a) { --a.nonzeros; }, true});
    return all;
}

template <>
std::vector<Malformation<CooView<V>>> malformations()
{
    using View = CooView<V>;
    auto all = nonzeros<View>();
    all.push_back({"null row", [](View& a) { a.row = nullptr; }});
    all.push_back({"null col", [](View& a) { a.col = nullptr; }});
    return all;
}

template <>
std::vector<Malformation<BlockedEllView<V>>> malformations()
{
    using View = BlockedEllView<V>;
    auto all = sizes<View>();
    all.push_back({"null value", [](View& a) { a.value = nullptr; }});
    all.push_back({"null block_col", [](View& a) { a.block_col = nullptr; }});
    all.push_back({"width of -1", [](View& a) { a.width = -1; }});
    all.push_back({"blocks of 0", [](View& a) { a.block = 0; }});
    all.push_back({"blocks of -2", [](View& a) { a.block = -2; }});
    all.push_back({"more values than 64 bits count", [](View& a) { a.block = a.width = max_index; }});
    return all;
}

template <>
std::vector<Malformation<DenseView<const V>>> malformations()
{
    using View = DenseView<const V>;
    auto all = sizes<View>();
    all.push_back({"null data", [](View& a) { a.data = nullptr; }});
    all.push_back({"leading dimension below a line", [](View& a) { a.leading = 3; }});
    all.push_back({"leading dimension of -4", [](View& a) { a.leading = -4; }});
    all.push_back({"more bytes than 64 bits count", [](View& a) { a.leading = offset_t{1} << 61; }});
    return all;
}

// ---- calls

// A std::function of these arguments; hundreds of lambdas become one, and for each of those the compiler makes a dozen
// functions.
template <class View>
class Work {
public:
    template <class F>
    Work(const F& work) : work_(static_cast<const Any*>(new Of<F>(work)))
    {}
    void operator()(const Context& c, const View& a) const { work_->run(c, a); }

private:
    struct Any {
        virtual ~Any() = default;
        virtual void run(const Context&, const View&) const = 0;
    };
    template <class F>
    struct Of : Any {
        explicit Of(const F& work) : f(work) {}
        void run(const Context& c, const View& a) const override { f(c, a); }
        F f;
    };
    std::shared_ptr<const Any> work_;
};

template <class View>
struct Call {
    std::string name;
    Work<View> run;
    bool on_host = false;  // takes arrays on the host, wherever the context works
    bool checked = true;
    bool takes_empty = true;  // a matrix without nonzeros is an ordinary one
};

void require_ok(const Findings& found) { require<ValueError>(found.ok(), found.problem); }

// Vectors and dense matrices that fit the triangle.
struct Operands {
    explicit Operands(const Context& c) : x(zeros(c, 16)), y(zeros(c, 16)) {}

    static Buffer<V> zeros(const Context& c, std::size_t n)
    {
        const std::vector<V> none(n);
        return to_device<V>(c, none);
    }
    std::span<const V> in(std::size_t n = 4) const { return x.span().first(n); }
    std::span<V> out(std::size_t n = 4) { return y.span().first(n); }
    DenseView<const V> b() const { return {4, 4, 4, Layout::row_major, x.data()}; }
    DenseView<V> c() { return {4, 4, 4, Layout::row_major, y.data()}; }

    Buffer<V> x, y;
};

const sptrsv::Options any_triangle{.unit_diagonal = true, .other_side = sptrsv::OtherSide::ignore};

template <class View>
void add_conversions(std::vector<Call<View>>& all)
{
    all.push_back({"to_csr", [](const Context& c, const View& a) { to_csr(c, a); }});
    all.push_back({"to_csc", [](const Context& c, const View& a) { to_csc(c, a); }});
    all.push_back({"to_coo", [](const Context& c, const View& a) { to_coo(c, a); }});
    all.push_back({"to_blocked_ell", [](const Context& c, const View& a) { to_blocked_ell(c, a, 2); }});
    all.push_back({"to_dense", [](const Context& c, const View& a) { to_dense(c, a); }});
}

template <class View>
void add_basics(std::vector<Call<View>>& all)
{
    all.push_back({"validate", [](const Context& c, const View& a) { require_ok(validate(c, a)); }});
    all.push_back({"check", [](const Context& c, const View& a) { check(c, a); }});
    all.push_back({"check_arrays", [](const Context& c, const View& a) { check_arrays(c, a); }, false, false});
    all.push_back({"to_device", [](const Context& c, const View& a) { to_device(c, a); }, true, false});
    all.push_back({"to_host", [](const Context& c, const View& a) { to_host(c, a); }, false, false});
}

template <class View>
void add_spmv(std::vector<Call<View>>& all)
{
    for (const bool checked : {true, false})
        for (const auto op : {tulle::Op::none, tulle::Op::transpose}) {
            const spmv::Options options{.op = op, .checked = checked};
            all.push_back({"spmv::multiply",
                           [=](const Context& c, const View& a) {
                               Operands o(c);
                               spmv::multiply(c, a, o.in(), o.out(), options);
                               c.synchronize();
                           },
                           false, checked});
            all.push_back({"spmv::Plan::make",
                           [=](const Context& c, const View& a) { (void)spmv::Plan<V>::make(c, a, options); }, false,
                           checked});
        }
    all.push_back({"spmv::Plan::update_values",
                   [](const Context& c, const View& a) {
                       const Matrices m(c);
                       auto plan = spmv::Plan<V>::make(c, m.view<View>(false));
                       plan.update_values(a);
                       c.synchronize();
                   },
                   false, false});
}

template <class View>
void add_spmv_direct(std::vector<Call<View>>& all)
{
    all.push_back({"spmv::multiply_direct", [](const Context& c, const View& a) {
                       Operands o(c);
                       const spmv::Policy policy = spmv::direct_policy<V>(c, a);
                       spmv::multiply_direct<V, V>(c, a, policy, V(1), o.in(), V(0), o.out());
                       c.synchronize();
                   }});
}

template <class View>
void add_spmv_team(std::vector<Call<View>>& all)
{
    const auto team = [](const Context& c) { return Team({c, Context::cpu(1)}); };
    for (const bool checked : {true, false})
        all.push_back(
            {"spmv::TeamPlan::make",
             [=](const Context& c, const View& a) { (void)spmv::TeamPlan<V>::make(team(c), a, {.checked = checked}); },
             true, checked});
    all.push_back({"spmv::TeamPlan::update_values",
                   [=](const Context& c, const View& a) {
                       const Matrices m(c);
                       auto plan = spmv::TeamPlan<V>::make(team(c), m.view<View>(true));
                       plan.update_values(a);
                   },
                   true, false});
}

template <class View>
void add_sptrsv(std::vector<Call<View>>& all)
{
    for (const bool checked : {true, false}) {
        auto options = any_triangle;
        options.checked = checked;
        all.push_back({"sptrsv::solve",
                       [=](const Context& c, const View& a) {
                           Operands o(c);
                           sptrsv::solve(c, a, o.in(), o.out(), options);
                       },
                       false, checked});
        all.push_back({"sptrsv::Plan::make",
                       [=](const Context& c, const View& a) { (void)sptrsv::Plan<V>::make(c, a, options); }, false,
                       checked});
        all.push_back({"sptrsv::best_context",
                       [=](const Context&, const View& a) { (void)sptrsv::best_context<V>(a, options); }, true,
                       checked});
        all.push_back({"sptrsv::level_widths",
                       [=](const Context& c, const View& a) { (void)sptrsv::level_widths<V>(c, a, options); }, false,
                       checked});
        all.push_back({"sptrsv::try_policies",
                       [=](const Context& c, const View& a) {
                           (void)sptrsv::try_policies<V>(c, a, options,
                                                         {sptrsv::candidates(sptrsv::limits_of(c)).front()});
                       },
                       false, checked});
    }
    all.push_back({"sptrsv::Plan::update_values",
                   [](const Context& c, const View& a) {
                       const Matrices m(c);
                       auto plan = sptrsv::Plan<V>::make(c, m.view<View>(false), any_triangle);
                       plan.update_values(a);
                       c.synchronize();
                   },
                   false, false});
}

template <class View>
void add_spmm(std::vector<Call<View>>& all)
{
    for (const bool checked : {true, false})
        for (const auto op : {tulle::Op::none, tulle::Op::transpose}) {
            const spmm::Options options{.op = op, .n = 4, .checked = checked};
            all.push_back({"spmm::multiply",
                           [=](const Context& c, const View& a) {
                               Operands o(c);
                               spmm::multiply(c, a, o.b(), o.c(), options);
                               c.synchronize();
                           },
                           false, checked});
            all.push_back({"spmm::Plan::make",
                           [=](const Context& c, const View& a) { (void)spmm::Plan<V>::make(c, a, options); }, false,
                           checked});
            all.push_back({"spmm::TeamPlan::make",
                           [=](const Context& c, const View& a) {
                               (void)spmm::TeamPlan<V>::make(Team({c, Context::cpu(1)}), a, {.product = options});
                           },
                           true, checked});
        }
    for (const bool checked : {true, false})
        for (const auto op : {tulle::Op::none, tulle::Op::transpose})
            all.push_back({"narrow",
                           [=](const Context& c, const View& a) {
                               (void)tulle::narrow<Float16>(c, a, {.op = op, .checked = checked});
                           },
                           false, checked});
    all.push_back({"spmm::Plan::update_values",
                   [](const Context& c, const View& a) {
                       const Matrices m(c);
                       auto plan = spmm::Plan<V>::make(c, m.view<View>(false));
                       plan.update_values(a);
                       c.synchronize();
                   },
                   false, false});
    all.push_back({"spmm::TeamPlan::update_values",
                   [](const Context& c, const View& a) {
                       const Matrices m(c);
                       auto plan = spmm::TeamPlan<V>::make(Team({c}), m.view<View>(true));
                       plan.update_values(a);
                   },
                   true, false});
}

template <class View>
void add_sddmm(std::vector<Call<View>>& all)
{
    for (const bool checked : {true, false})
        all.push_back({"sddmm::Plan::make",
                       [=](const Context& c, const View& a) { (void)sddmm::Plan<V>::make(c, a, {.checked = checked}); },
                       false, checked});
    all.push_back({"sddmm::Plan::update_values",
                   [](const Context& c, const View& a) {
                       const Matrices m(c);
                       auto plan = sddmm::Plan<V>::make(c, m.view<View>(false));
                       plan.update_values(a);
                       c.synchronize();
                   },
                   false, false});
}

// What takes a matrix alone, and what takes two: each of them malformed in its turn.
void add_graph_ops(std::vector<Call<CsrView<V>>>& all)
{
    using View = CsrView<V>;
    const auto two = [&](const char* name, void (*work)(const Context&, const View&, const View&)) {
        for (const bool left : {true, false})
            all.push_back({name, [=](const Context& c, const View& a) {
                               const Matrices m(c);
                               const View sound = m.view<View>(false);
                               work(c, left ? a : sound, left ? sound : a);
                           }});
    };
    const auto one = [&](const char* name, const auto& work) {
        all.push_back({name, [=](const Context& c, const View& a) {
                           Operands o(c);
                           work(c, a, o);
                       }});
    };
    two("graph::add", [](auto& c, auto& a, auto& b) { graph::add(c, graph::Monoid::plus, a, b); });
    two("graph::multiply_entries",
        [](auto& c, auto& a, auto& b) { graph::multiply_entries(c, graph::Semiring::plus_times, a, b); });
    two("graph::kron", [](auto& c, auto& a, auto& b) { graph::kron(c, graph::Semiring::plus_times, a, b); });
    two("graph::assign", [](auto& c, auto& a, auto& b) { graph::assign(c, a, {}, {}, b); });
    one("graph::multiply_sparse", [](auto& c, auto& a, auto&) {
        graph::SparseVector<V> x;
        x.size = 4;
        graph::multiply_sparse(c, graph::Semiring::plus_times, a, a, x);
    });
    one("graph::extract", [](auto& c, auto& a, auto&) { graph::extract(c, a, {}, {}); });
    one("graph::reduce", [](auto& c, auto& a, auto&) { graph::reduce(c, graph::Monoid::plus, a); });
    one("graph::reduce_rows",
        [](auto& c, auto& a, auto& o) { graph::reduce_rows(c, graph::Monoid::plus, a, o.out()); });
    one("graph::reduce_cols",
        [](auto& c, auto& a, auto& o) { graph::reduce_cols(c, graph::Monoid::plus, a, o.out()); });
}

// make(ctx, view) of a plan, and its update_values().
template <class View, class Make>
void add_plan(std::vector<Call<View>>& all, const std::string& name, bool checked, bool takes_empty, const Make& make)
{
    all.push_back({name + "::Plan::make", [=](const Context& c, const View& a) { (void)make(c, a); }, false, checked,
                   takes_empty});
    all.push_back({name + "::Plan::update_values",
                   [=](const Context& c, const View& a) {
                       const Matrices m(c);
                       auto plan = make(c, m.view<View>(false));
                       plan.update_values(a);
                       c.synchronize();
                   },
                   false, false});
}

template <class View>
void add_factor(std::vector<Call<View>>& all)
{
    using factor::Kind;
    for (const bool checked : {true, false})
        for (const Kind kind : {Kind::ilu0, Kind::ic0, Kind::iluk, Kind::ilut})
            for (const auto order :
                 {factor::Order::natural, factor::Order::rcm, factor::Order::colour, factor::Order::automatic})
                add_plan(all, "factor", checked, true, [=](const Context& c, const View& a) {
                    return factor::Plan<V>::make(c, a,
                                                 {.kind = kind,
                                                  .order = order,
                                                  .missing_diagonal = factor::MissingDiagonal::add,
                                                  .checked = checked});
                });
}

template <class View>
void add_amg_and_solve(std::vector<Call<View>>& all)
{
    for (const bool checked : {true, false})
        add_plan(all, "amg", checked, false,
                 [=](const Context& c, const View& a) { return amg::Plan<V>::make(c, a, {.checked = checked}); });
    for (const solve::Recipe& recipe :
         {solve::Recipe{}, solve::Recipe{.method = solve::Method::cg, .preconditioner = solve::Jacobi{}}})
        add_plan(all, "solve", true, !recipe.preconditioner,
                 [=](const Context& c, const View& a) { return solve::Plan<V>::make(c, a, recipe); });
    const auto team_plan = [](const Context& c, const View& a) {
        return solve::TeamPlan<V>::make(Team({c, Context::cpu(1)}), a, {.preconditioner = solve::None{}});
    };
    all.push_back({"solve::TeamPlan::make", [=](const Context& c, const View& a) { (void)team_plan(c, a); }, true});
    all.push_back({"solve::TeamPlan::update_values",
                   [=](const Context& c, const View& a) {
                       const Matrices m(c);
                       team_plan(c, m.view<View>(true)).update_values(a);
                   },
                   true, false});
}

// Every place of a matrix among the operands of a product.
template <class View>
void add_graph_products(std::vector<Call<View>>& all)
{
    using graph::Semiring;
    const auto add = [&](const std::string& name, int operands, const auto& product) {
        for (int at = 0; at < operands; ++at)
            all.push_back({concat("graph::", name, ", operand ", at), [=](const Context& c, const View& a) {
                               const Matrices m(c);
                               const View sound = m.view<View>(false);
                               product(c, at == 0 ? a : sound, at == 1 ? a : sound, at == 2 ? a : sound);
                           }});
    };
    add("multiply", 1, [](const Context& c, const View& a, const View&, const View&) {
        Operands o(c);
        graph::multiply(c, Semiring::min_plus, a, o.in(), o.out());
        c.synchronize();
    });
    add("multiply (dense)", 1, [](const Context& c, const View& a, const View&, const View&) {
        Operands o(c);
        graph::multiply(c, Semiring::min_plus, a, o.b(), o.c());
        c.synchronize();
    });
    for (const bool complement : {false, true})
        add("multiply_masked", 3, [=](const Context& c, const View& a, const View& b, const View& mask) {
            graph::multiply_masked(c, Semiring::plus_pair, a, b, mask, complement);
        });
    add("select", 1,
        [](const Context& c, const View& a, const View&, const View&) { graph::select(c, a, {.most_per_row = 1}); });
    add("multiply_select", 2, [](const Context& c, const View& a, const View& b, const View&) {
        graph::multiply_select(c, Semiring::plus_times, a, b, {.threshold = 0.5}, std::size_t{1} << 20);
    });
}

// The triangle is a directed graph, which functions of undirected ones tell after they have looked at the arrays.
template <class Work>
void unless_directed(Work&& work)
{
    try {
        work();
    } catch (const ValueError& e) {
        if (e.message().find("the graph is directed") == std::string::npos) throw;
    }
}

template <class View>
void add_graph(std::vector<Call<View>>& all)
{
    add_graph_products(all);
    all.push_back({"graph::count_triangles",
                   [](const Context& c, const View& a) { unless_directed([&] { graph::count_triangles(c, a); }); }});
    all.push_back({"graph::core_numbers",
                   [](const Context& c, const View& a) { unless_directed([&] { graph::core_numbers(c, a); }); }});
    all.push_back({"graph::pagerank", [](const Context& c, const View& a) { graph::pagerank(c, a); }});
    all.push_back({"graph::hits", [](const Context& c, const View& a) { graph::hits(c, a); }});
    all.push_back({"graph::breadth_first", [](const Context& c, const View& a) { graph::breadth_first(c, a, 0); }});
    all.push_back({"graph::shortest_paths", [](const Context& c, const View& a) { graph::shortest_paths(c, a, 0); }});
    all.push_back({"graph::components", [](const Context& c, const View& a) { graph::components(c, a); }});
    all.push_back({"graph::cluster", [](const Context& c, const View& a) {
                       graph::cluster(c, a, {.iterations = 2, .budget = std::size_t{1} << 20});
                   }});
}

template <class View>
void add_spgemm(std::vector<Call<View>>& all)
{
    for (const bool checked : {true, false})
        for (const bool left : {true, false}) {
            const auto with = [=](const auto& work, const Context& c, const View& a, bool on_host) {
                const Matrices m(c);
                const auto sound = m.view<View>(on_host);
                work(c, left ? a : sound, left ? sound : a);
            };
            const spgemm::Options options{.op_b = tulle::Op::transpose, .checked = checked};
            all.push_back(
                {"spgemm::multiply",
                 [=](const Context& c, const View& a) {
                     with([&](const Context& d, const View& l, const View& r) { spgemm::multiply(d, l, r, options); },
                          c, a, false);
                 },
                 false, checked});
            all.push_back({"spgemm::Plan::make",
                           [=](const Context& c, const View& a) {
                               with([&](const Context& d, const View& l,
                                        const View& r) { (void)spgemm::Plan<V>::make(d, l, r, {.checked = checked}); },
                                    c, a, false);
                           },
                           false, checked});
            all.push_back({"spgemm::for_each_chunk",
                           [=](const Context& c, const View& a) {
                               with(
                                   [&](const Context& d, const View& l, const View& r) {
                                       spgemm::for_each_chunk(
                                           d, l, r, [](index_t, Csr<V>) {}, options);
                                   },
                                   c, a, false);
                           },
                           false, checked});
            all.push_back(
                {"spgemm::TeamPlan::make",
                 [=](const Context& c, const View& a) {
                     with(
                         [&](const Context& d, const View& l, const View& r) {
                             (void)spgemm::TeamPlan<V>::make(Team({d, Context::cpu(1)}), l, r, {.checked = checked});
                         },
                         c, a, true);
                 },
                 true, checked});
            if (checked) continue;
            all.push_back({"spgemm::Plan::update_values",
                           [=](const Context& c, const View& a) {
                               with(
                                   [&](const Context& d, const View& l, const View& r) {
                                       const Matrices m(d);
                                       auto plan = spgemm::Plan<V>::make(d, m.view<View>(false), m.view<View>(false));
                                       plan.update_values(l, r);
                                       d.synchronize();
                                   },
                                   c, a, false);
                           },
                           false, false});
        }
}

template <class View>
std::vector<Call<View>> calls();

template <>
std::vector<Call<CsrView<V>>> calls()
{
    using View = CsrView<V>;
    std::vector<Call<View>> all;
    add_basics(all);
    add_conversions(all);
    all.push_back({"validate_pattern", [](const Context& c, const View& a) { require_ok(validate_pattern(c, a)); }});
    all.push_back({"transpose", [](const Context& c, const View& a) { transpose(c, a); }});
    all.push_back({"permute", [](const Context& c, const View& a) { permute(c, a, {}, {}); }});
    all.push_back({"sort_rows", [](const Context& c, const View& a) { sort_rows(c, a); }});
    all.push_back({"sum_duplicates", [](const Context& c, const View& a) { sum_duplicates(c, a); }});
    all.push_back({"features", [](const Context& c, const View& a) { features(c, a); }});
    all.push_back({"io::fingerprint", [](const Context&, const View& a) { io::fingerprint(a); }, true, false});
    all.push_back({"io::write",
                   [](const Context& c, const View& a) {
                       io::write(c, std::filesystem::temp_directory_path() / "tulle_malformed_test.mtx", a);
                   },
                   true});
    all.push_back({"partition", [](const Context& c, const View& a) { partition::partition(c, a, 2); }, false, false});
    all.push_back({"partition at cuts",
                   [](const Context& c, const View& a) {
                       partition::partition(c, a, std::vector<partition::Cut>{{}, {a.nonzeros, a.rows, false}});
                   },
                   false, false});
    add_spmv(all);
    add_spmv_direct(all);
    add_spmv_team(all);
    add_spmm(all);
    add_sddmm(all);
    add_spgemm(all);
    add_graph_ops(all);
    add_sptrsv(all);
    add_factor(all);
    add_amg_and_solve(all);
    add_graph(all);
    return all;
}

template <>
std::vector<Call<Csr32View<V>>> calls()
{
    std::vector<Call<Csr32View<V>>> all;
    add_basics(all);
    add_conversions(all);
    add_spmv(all);
    add_spmv_direct(all);
    add_spmv_team(all);
    add_spmm(all);
    add_sddmm(all);
    add_spgemm(all);
    add_sptrsv(all);
    add_factor(all);
    add_amg_and_solve(all);
    add_graph(all);
    return all;
}

template <>
std::vector<Call<CscView<V>>> calls()
{
    using View = CscView<V>;
    std::vector<Call<View>> all;
    add_basics(all);
    add_conversions<View>(all);
    std::erase_if(all, [](const auto& call) { return call.name == "to_csc"; });  // there is none from CSC to itself
    all.push_back({"partition", [](const Context& c, const View& a) { partition::partition(c, a, 2); }, false, false});
    all.push_back({"partition at cuts",
                   [](const Context& c, const View& a) {
                       partition::partition(c, a, std::vector<partition::Cut>{{}, {a.nonzeros, a.cols, false}});
                   },
                   false, false});
    add_spmv(all);
    add_spmv_team(all);
    add_sptrsv(all);
    return all;
}

template <>
std::vector<Call<CooView<V>>> calls()
{
    using View = CooView<V>;
    std::vector<Call<View>> all;
    add_basics(all);
    add_conversions(all);
    all.push_back({"partition", [](const Context& c, const View& a) { partition::partition(c, a, 2); }, false, false});
    all.push_back(
        {"partition::cuts_of", [](const Context& c, const View& a) { partition::cuts_of(c, a, 2); }, false, false});
    add_spmv(all);
    add_spmv_team(all);
    return all;
}

template <>
std::vector<Call<BlockedEllView<V>>> calls()
{
    std::vector<Call<BlockedEllView<V>>> all;
    add_basics(all);
    add_conversions(all);
    add_spmv(all);
    return all;
}

DenseView<V> writable(const DenseView<const V>& a)
{
    return {a.rows, a.cols, a.leading, a.layout, const_cast<V*>(a.data)};
}

// Every dense operand of SDDMM and of attention.
void add_sddmm_operands(std::vector<Call<DenseView<const V>>>& all)
{
    using View = DenseView<const V>;
    for (int at = 0; at < 2; ++at)
        all.push_back({concat("sddmm, operand ", at),
                       [=](const Context& c, const View& d) {
                           const Matrices m(c);
                           const Operands o(c);
                           Buffer<V> to = c.run([&](const auto& q) { return Buffer<V>(q, m.csr_there.nonzeros()); });
                           sddmm::multiply(c, m.csr_there.view(), at == 0 ? d : o.b(), at == 1 ? d : o.b(), to.span());
                           c.synchronize();
                       },
                       false, false});
    for (int at = 0; at < 4; ++at)
        all.push_back({concat("sddmm::Plan::attend, operand ", at),
                       [=](const Context& c, const View& d) {
                           const Matrices m(c);
                           Operands o(c);
                           const auto sound = [&](int k) { return at == k ? d : o.b(); };
                           sddmm::Plan<V>::make(c, m.csr_there.view())
                               .attend(1, sound(0), sound(1), sound(2), at == 3 ? writable(d) : o.c());
                           c.synchronize();
                       },
                       false, false});
}

// Several right-hand sides, shared products or not; the near null space of AMG.
void add_solve_operands(std::vector<Call<DenseView<const V>>>& all)
{
    using View = DenseView<const V>;
    for (const auto method : {solve::Method::cg, solve::Method::gmres})
        for (const bool is_b : {true, false})
            all.push_back({is_b ? "solve::Plan::solve with such a B" : "solve::Plan::solve with such an X",
                           [=](const Context& c, const View& d) {
                               const Matrices m(c);
                               Operands o(c);
                               solve::Plan<V>::make(c, m.csr_there.view(),
                                                    {.method = method, .preconditioner = solve::Jacobi{}})
                                   .solve(is_b ? d : o.b(), is_b ? o.c() : writable(d));
                           },
                           false, false});
    all.push_back({"amg::Plan::make with such a near null space",
                   [](const Context& c, const View& d) {
                       const Matrices m(c);
                       (void)amg::Plan<V>::make(c, m.csr_there.view(), {}, d);
                   },
                   false, false});
    all.push_back({"solve::Plan::make with such a near null space",
                   [](const Context& c, const View& d) {
                       const Matrices m(c);
                       (void)solve::Plan<V>::make(c, m.csr_there.view(), {}, d);
                   },
                   false, false});
    all.push_back({"amg::rigid_body_modes",
                   [](const Context& c, View d) {
                       d.cols -= d.cols == 4;  // points of a space
                       d.leading -= 1;
                       (void)amg::rigid_body_modes<V>(c, d);
                   },
                   true, false});
}

template <>
std::vector<Call<DenseView<const V>>> calls()
{
    using View = DenseView<const V>;
    std::vector<Call<View>> all;
    add_conversions(all);
    std::erase_if(all, [](const auto& call) { return call.name == "to_dense"; });
    all.push_back({"spmm with such a B",
                   [](const Context& c, const View& b) {
                       const Matrices m(c);
                       Operands o(c);
                       spmm::multiply(c, m.csr_there.view(), b, o.c());
                       c.synchronize();
                   },
                   false, false});
    all.push_back({"spmm with such a C",
                   [](const Context& c, const View& b) {
                       const Matrices m(c);
                       const Operands o(c);
                       spmm::multiply(c, m.csr_there.view(), o.b(), writable(b));
                       c.synchronize();
                   },
                   false, false});
    add_sddmm_operands(all);
    add_solve_operands(all);
    all.push_back({"spmm on a team",
                   [](const Context& c, const View& b) {
                       const Matrices m(c);
                       Operands o(m.host);
                       spmm::multiply(Team({c, m.host}), m.csr.view(), 1, b, 0, o.c());
                   },
                   true, false});
    all.push_back({"sptrsv with such a b",
                   [](const Context& c, const View& b) {
                       const Matrices m(c);
                       Operands o(c);
                       sptrsv::Plan<V>::make(c, m.csr_there.view()).solve(V(1), b, o.c());
                       c.synchronize();
                   },
                   false, false});
    all.push_back({"sptrsv with such an x",
                   [](const Context& c, const View& x) {
                       const Matrices m(c);
                       const Operands o(c);
                       sptrsv::Plan<V>::make(c, m.csr_there.view()).solve(V(1), o.b(), writable(x));
                       c.synchronize();
                   },
                   false, false});
    return all;
}

// ---- the table

class MalformedOn : public OnBackend {
protected:
    template <class View>
    void expect_refusals()
    {
        const Context c = ctx();
        const Matrices m(c);
        for (const Call<View>& call : calls<View>()) {
            SCOPED_TRACE(call.name + (call.checked ? "" : ", unchecked"));
            EXPECT_NO_THROW(call.run(c, m.view<View>(call.on_host))) << "a sound view";
            for (const Malformation<View>& wrong : malformations<View>()) {
                if (wrong.needs_content && !call.checked &&
                    (c.backend() == Backend::cuda || call.name == "to_device" || call.name == "to_host"))
                    continue;
                SCOPED_TRACE(wrong.name);
                View a = m.view<View>(call.on_host);
                wrong.apply(a);
                expect_refusal([&] { call.run(c, a); });
            }
        }
    }

    template <class Work>
    static void expect_refusal(const Work& work)
    {
        try {
            work();
            ADD_FAILURE() << "was accepted";
        } catch (const ValueError& e) {
            EXPECT_FALSE(e.message().empty());
        } catch (const ShapeError& e) {
            EXPECT_FALSE(e.message().empty());
        } catch (const PlanMismatch& e) {
            EXPECT_FALSE(e.message().empty());
        }
    }
};

TEST_P(MalformedOn, Csr) { expect_refusals<CsrView<V>>(); }
TEST_P(MalformedOn, Csr32) { expect_refusals<Csr32View<V>>(); }
TEST_P(MalformedOn, Csc) { expect_refusals<CscView<V>>(); }
TEST_P(MalformedOn, Coo) { expect_refusals<CooView<V>>(); }
TEST_P(MalformedOn, BlockedEll) { expect_refusals<BlockedEllView<V>>(); }
TEST_P(MalformedOn, Dense) { expect_refusals<DenseView<const V>>(); }

// Arrays that are empty may be null: no nonzeros, no rows, no columns.
TEST_P(MalformedOn, EmptyArraysMayBeNull)
{
    const Context c = ctx();
    const std::vector<offset_t> none(5);
    const auto there = to_device<offset_t>(c, none);
    const auto on = [&](bool on_host) { return on_host ? none.data() : there.data(); };
    for (const Call<CsrView<V>>& call : calls<CsrView<V>>()) {
        if (call.name.find("update_values") != std::string::npos) continue;  // its plan is of another matrix
        if (!call.takes_empty) continue;
        SCOPED_TRACE(call.name);
        EXPECT_NO_THROW(call.run(c, {.rows = 4, .cols = 4, .nonzeros = 0, .row_begin = on(call.on_host)}));
    }
    for (const Call<CooView<V>>& call : calls<CooView<V>>()) {
        if (call.name.find("update_values") != std::string::npos || call.name == "partition::cuts_of")
            continue;  // it has no order
        SCOPED_TRACE(call.name);
        EXPECT_NO_THROW(call.run(c, {.rows = 4, .cols = 4}));
    }
    Operands o(c);
    const CsrView<V> flat{.rows = 0, .cols = 4, .nonzeros = 0, .row_begin = there.data()};
    EXPECT_NO_THROW(spmv::multiply(c, flat, o.in(), std::span<V>{}));
    EXPECT_NO_THROW(spmm::multiply(c, flat, o.b(), DenseView<V>{0, 4, 4, Layout::row_major, nullptr}));
    EXPECT_NO_THROW(to_csr(c, DenseView<const V>{0, 4, 4, Layout::row_major, nullptr}));
    EXPECT_NO_THROW(to_csr(c, BlockedEllView<V>{.rows = 4, .cols = 4, .block = 2}));
}

TEST_P(MalformedOn, VectorsThatAreNullOrOfAnotherSize)
{
    const Context c = ctx();
    const Matrices m(c);
    Operands o(c);
    const std::span<const V> no_x(static_cast<const V*>(nullptr), 4);
    const std::span<V> no_y(static_cast<V*>(nullptr), 4);
    const auto a = m.csr_there.view();
    const auto plan = spmv::Plan<V>::make(c, a, {.dots = true});
    const auto solver = sptrsv::Plan<V>::make(c, a);
    auto team = spmv::TeamPlan<V>::make(Team({c, m.host}), m.csr.view());
    const auto ilu = factor::Plan<V>::make(c, a), ordered = factor::Plan<V>::make(c, a, {.order = factor::Order::rcm});
    const auto multigrid = amg::Plan<V>::make(c, a);
    auto system = solve::Plan<V>::make(c, a);
    auto team_system = solve::TeamPlan<V>::make(Team({c, m.host}), m.csr.view());
    const std::vector<std::pair<std::string, std::function<void(std::span<const V>, std::span<V>)>>> all{
        {"spmv::multiply", [&](auto x, auto y) { spmv::multiply(c, a, x, y); }},
        {"spmv::Plan::run", [&](auto x, auto y) { plan.run(x, y); }},
        {"spmv::Plan::run with dots", [&](auto x, auto y) { plan.run(1, x, 0, y, o.y.span().last(2)); }},
        {"spmv::TeamPlan::run", [&](auto x, auto y) { team.run(x, y); }},
        {"sptrsv::solve", [&](auto x, auto y) { sptrsv::solve(c, a, x, y); }},
        {"sptrsv::Plan::solve", [&](auto x, auto y) { solver.solve(x, y); }},
        {"factor::Plan::apply", [&](auto x, auto y) { ilu.apply(x, y); }},
        {"factor::Plan::apply in another order", [&](auto x, auto y) { ordered.apply(x, y); }},
        {"amg::Plan::apply", [&](auto x, auto y) { multigrid.apply(x, y); }},
        {"solve::Plan::solve", [&](auto x, auto y) { system.solve(x, y); }},
        {"solve::TeamPlan::solve", [&](auto x, auto y) { team_system.solve(x, y); }},
        {"graph::multiply", [&](auto x, auto y) { graph::multiply(c, graph::Semiring::plus_times, a, x, y); }},
    };
    for (const auto& [name, call] : all) {
        SCOPED_TRACE(name);
        expect_refusal([&, &call = call] { call(no_x, o.out()); });
        expect_refusal([&, &call = call] { call(o.in(), no_y); });
        expect_refusal([&, &call = call] { call(o.in(3), o.out()); });
        expect_refusal([&, &call = call] { call(o.in(), o.out(5)); });
        if (name.find("sptrsv") == std::string::npos)
            expect_refusal([&, &call = call] { call(std::as_const(o.y).span().subspan(2, 4), o.out()); });
    }
    expect_refusal([&] { plan.run(1, o.in(), 0, o.out(), std::span<V>(static_cast<V*>(nullptr), 2)); });
    expect_refusal([&] { plan.run(1, o.in(), 0, o.out(), o.out(2)); });
    const auto sampled = sddmm::Plan<V>::make(c, a);
    expect_refusal([&] { sampled.run(o.b(), o.b(), std::span<V>(static_cast<V*>(nullptr), 6)); });
    expect_refusal([&] { sampled.run(o.b(), o.b(), o.out(5)); });
    expect_refusal([&] { sampled.run(o.b(), o.c(), o.out(6)); });
    expect_refusal([&] { to_device<V>(c, no_x); });
    expect_refusal([&] { to_host<V>(c, no_x); });
    expect_refusal([&] { permute(c, a, std::span<const index_t>(static_cast<const index_t*>(nullptr), 4), {}); });
    expect_refusal([&] { row_statistics(c, 4, 4, nullptr); });
    expect_refusal([&] { row_statistics(c, -1, 4, m.csr_there.row_begin.data()); });
    expect_refusal([&] { partition::split(c, nullptr, 4, 2); });
    expect_refusal([&] { partition::split(c, m.csr_there.row_begin.data(), -1, 2); });
}

TEST_P(MalformedOn, PartsThatAreMerged)
{
    const Context c = ctx();
    const Matrices m(c);
    auto rows = partition::partition(c, m.csr_there.view(), 2);
    EXPECT_NO_THROW(partition::merge<V>(c, rows.part));
    for (const auto& wrong : std::vector<std::function<void(partition::PartialCsr<V>&)>>{
             [](auto& p) { p.row_begin = nullptr; }, [](auto& p) { p.col = nullptr; },
             [](auto& p) { p.value = nullptr; }, [](auto& p) { p.cols = -1; }, [](auto& p) { p.part.end = -7; }}) {
        auto parts = rows.part;
        wrong(parts[1]);
        expect_refusal([&] { partition::merge<V>(c, parts); });
    }
}

// Numbers of 16 bits have checks of their own.
TEST_P(MalformedOn, SpmmOfSixteenBits)
{
    const Context c = ctx();
    const Matrices m(c);
    const auto a = m.csr_there.view();
    const auto values = to_device<Float16>(c, std::vector<Float16>(6, Float16(1.0f)));
    const CsrView<Float16> sound{a.rows, a.cols, a.nonzeros, a.row_begin, a.col, values.data()};
    EXPECT_NO_THROW((spmm::Plan<Float16, float>::make(c, sound)));
    for (const bool checked : {true, false})
        for (const auto& wrong : std::vector<std::function<void(CsrView<Float16>&)>>{
                 [](auto& v) { v.value = nullptr; }, [](auto& v) { v.col = nullptr; },
                 [](auto& v) { v.row_begin = nullptr; }, [](auto& v) { v.rows = -1; },
                 [](auto& v) { v.nonzeros = -1; }}) {
            CsrView<Float16> bad = sound;
            wrong(bad);
            expect_refusal([&] { spmm::Plan<Float16, float>::make(c, bad, {.checked = checked}); });
        }
}

// A C that is to be filled again but has lost an array.
TEST_P(MalformedOn, ResultsThatAreFilledAgain)
{
    const Context c = ctx();
    const Matrices m(c);
    const auto plan = spgemm::Plan<V>::make(c, m.csr_there.view(), m.csr_there.view());
    auto sound = plan.run(), without_values = plan.run(), without_offsets = plan.run(), empty = Csr<V>{};
    without_values.value = {};
    without_offsets.row_begin = {};
    EXPECT_NO_THROW(plan.run(sound));
    for (Csr<V>* bad : {&without_values, &without_offsets, &empty}) expect_refusal([&] { plan.run(*bad); });
    c.synchronize();
}

TEST_P(MalformedOn, PatternsThatAreOrdered)
{
    const Context c = ctx();
    const Matrices m(c);
    const auto sound = spmm::pattern_of(m.csr_there.view());
    const spmm::RowOrder order = spmm::order_rows(c, sound);
    EXPECT_NO_THROW(spmm::panel_cost(c, sound, order));
    for (const bool checked : {true, false})
        for (const auto& wrong : std::vector<std::function<void(spmm::Pattern&)>>{
                 [](auto& p) { p.row_begin = nullptr; }, [](auto& p) { p.col = nullptr; }, [](auto& p) { p.rows = -1; },
                 [](auto& p) { p.cols = -1; }, [](auto& p) { p.nonzeros = -1; }}) {
            spmm::Pattern bad = sound;
            wrong(bad);
            for (const auto kind : {spmm::OrderKind::natural, spmm::OrderKind::degree, spmm::OrderKind::minhash,
                                    spmm::OrderKind::pack, spmm::OrderKind::bsa})
                expect_refusal([&] { spmm::order_rows(c, bad, {.kind = kind, .checked = checked}); });
            expect_refusal([&] { spmm::panel_cost(c, bad, order); });
        }
}

// Arrays on the host for a context on a GPU.
TEST_P(MalformedOn, ArraysInOtherMemory)
{
    const Context c = ctx();
    if (c.backend() == Backend::cpu) GTEST_SKIP() << "the host reads all there is";
    const Matrices m(c);
    for (const Call<CsrView<V>>& call : calls<CsrView<V>>()) {
        if (call.on_host) continue;
        SCOPED_TRACE(call.name + (call.checked ? "" : ", unchecked"));
        expect_refusal([&] { call.run(c, m.csr.view()); });
    }
}

TULLE_ON_BACKENDS(MalformedOn);

}  // namespace
}  // namespace tulle::test
