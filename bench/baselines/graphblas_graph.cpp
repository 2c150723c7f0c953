// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Graph algorithms on SuiteSparse:GraphBLAS as LAGraph writes them (Mattson and others, IPDPSW 2019,
// doi:10.1109/IPDPSW.2019.00053): triangles by the masked product of the two triangles of the matrix sorted by degree,
// breadth-first search in both directions, PageRank by products over plus_second. As many threads as ours.
#include <numeric>
#include <vector>

#include "bench/baselines/graph.hpp"
#include "bench/baselines/graphblas.hpp"

namespace tulle::bench {
namespace {

using namespace graphblas;

class GraphblasGraph {
public:
    explicit GraphblasGraph(GraphProblem& problem) : problem_(problem), n_(static_cast<GrB_Index>(problem.host.rows))
    {
        start(problem.ctx.host().threads);
        const CsrView<double> a = problem.host.view();
        const std::vector<GrB_Index> begin(a.row_begin, a.row_begin + a.rows + 1), col(a.col, a.col + a.nonzeros);
        GrB_Matrix matrix = nullptr;
        check(GrB_Matrix_import_FP64(&matrix, GrB_FP64, n_, n_, begin.data(), col.data(), a.value, begin.size(),
                                     col.size(), col.size(), GrB_CSR_FORMAT));
        a_.reset(matrix);
        check(GrB_Matrix_wait(a_.get(), GrB_MATERIALIZE));
        order_.resize(n_);
        std::iota(order_.begin(), order_.end(), GrB_Index{0});
        std::stable_sort(order_.begin(), order_.end(), [&](GrB_Index u, GrB_Index v) { return edges(u) < edges(v); });
        divide();
    }

    // Everything that LAGraph does for a call: the matrix sorted by degree, its triangles, the product, the sum.
    void triangles()
    {
        divide();
        triangles_of_product();
    }

    // The product and the sum alone.
    void triangles_of_product()
    {
        const Matrix c = new_matrix(GrB_INT64, n_);
        check(GrB_mxm(c.get(), lower_.get(), nullptr, GxB_PLUS_PAIR_INT64, lower_.get(), upper_.get(), GrB_DESC_ST1));
        std::int64_t count = 0;
        check(GrB_Matrix_reduce_INT64(&count, nullptr, GrB_PLUS_MONOID_INT64, c.get(), nullptr));
        result_ = {static_cast<double>(count)};
    }

    // Levels and parents.
    void bfs()
    {
        const Vector level = new_vector(GrB_INT32, n_), parent = new_vector(GrB_INT64, n_),
                     q = new_vector(GrB_INT64, n_);
        const auto source = static_cast<GrB_Index>(problem_.source);
        check(GrB_Vector_setElement_INT64(q.get(), problem_.source, source));
        check(GrB_Vector_setElement_INT64(parent.get(), problem_.source, source));
        check(GrB_Vector_setElement_INT32(level.get(), 0, source));
        GrB_Index found = 1;
        for (int now = 1; found > 0; ++now) {
            const bool pull = found > n_ / few;
            check(GxB_Vector_Option_set(q.get(), GxB_SPARSITY_CONTROL, pull ? GxB_BITMAP : GxB_SPARSE));
            check(
                pull ? GrB_mxv(q.get(), parent.get(), nullptr, GxB_ANY_SECONDI_INT64, a_.get(), q.get(), GrB_DESC_RSC)
                     : GrB_vxm(q.get(), parent.get(), nullptr, GxB_ANY_SECONDI_INT64, q.get(), a_.get(), GrB_DESC_RSC));
            check(GrB_Vector_nvals(&found, q.get()));
            check(GrB_Vector_assign(parent.get(), q.get(), nullptr, q.get(), GrB_ALL, n_, GrB_DESC_S));
            check(GrB_Vector_assign_INT32(level.get(), q.get(), nullptr, now, GrB_ALL, n_, GrB_DESC_S));
        }
        fetch(level.get(), -1);
    }

    void pagerank()
    {
        Vector rank = new_vector(GrB_FP64, n_), last = new_vector(GrB_FP64, n_);
        const Vector share = new_vector(GrB_FP64, n_), dangling = new_vector(GrB_FP64, n_);
        const double n = problem_.host.rows;
        check(GrB_Vector_assign_FP64(rank.get(), nullptr, nullptr, 1 / n, GrB_ALL, n_, nullptr));
        for (int k = 0; k < rank_iterations; ++k) {
            std::swap(rank, last);
            double lost = 0;
            if (has_isolated_) {
                check(GrB_Vector_assign(dangling.get(), degree_.get(), nullptr, last.get(), GrB_ALL, n_, GrB_DESC_RSC));
                check(GrB_Vector_reduce_FP64(&lost, nullptr, GrB_PLUS_MONOID_FP64, dangling.get(), nullptr));
            }
            check(GrB_Vector_eWiseMult_BinaryOp(share.get(), nullptr, nullptr, GrB_DIV_FP64, last.get(), degree_.get(),
                                                nullptr));
            check(GrB_Vector_assign_FP64(rank.get(), nullptr, nullptr, (1 - rank_damping + rank_damping * lost) / n,
                                         GrB_ALL, n_, nullptr));
            check(GrB_mxv(rank.get(), nullptr, GrB_PLUS_FP64, GxB_PLUS_SECOND_FP64, a_.get(), share.get(), nullptr));
        }
        fetch(rank.get(), 0);
    }

    void masked()
    {
        const Matrix c = new_matrix(GrB_FP64, n_);
        check(GrB_mxm(c.get(), a_.get(), nullptr, GrB_PLUS_TIMES_SEMIRING_FP64, a_.get(), a_.get(), GrB_DESC_S));
        check(GrB_Matrix_wait(c.get(), GrB_MATERIALIZE));
        const Vector sum = new_vector(GrB_FP64, n_);
        check(GrB_Matrix_reduce_Monoid(sum.get(), nullptr, nullptr, GrB_PLUS_MONOID_FP64, c.get(), nullptr));
        fetch(sum.get(), 0);
    }

    std::vector<double> result() const { return result_; }

private:
    static constexpr GrB_Index few = 16;  // a level is searched by pull from this part of the vertices on

    offset_t edges(GrB_Index v) const { return problem_.degree(static_cast<index_t>(v)); }

    // The triangles of the matrix in ascending order of degrees; degrees over the damping.
    void divide()
    {
        const Matrix sorted = new_matrix(GrB_FP64, n_);
        check(GrB_Matrix_extract(sorted.get(), nullptr, nullptr, a_.get(), order_.data(), n_, order_.data(), n_,
                                 nullptr));
        lower_ = new_matrix(GrB_FP64, n_);
        upper_ = new_matrix(GrB_FP64, n_);
        check(GrB_Matrix_select_INT64(lower_.get(), nullptr, nullptr, GrB_TRIL, sorted.get(), -1, nullptr));
        check(GrB_Matrix_select_INT64(upper_.get(), nullptr, nullptr, GrB_TRIU, sorted.get(), 1, nullptr));
        check(GrB_Matrix_wait(lower_.get(), GrB_MATERIALIZE));
        check(GrB_Matrix_wait(upper_.get(), GrB_MATERIALIZE));
        if (degree_) return;
        degree_ = new_vector(GrB_FP64, n_);
        for (GrB_Index v = 0; v < n_; ++v) {
            has_isolated_ = has_isolated_ || edges(v) == 0;
            if (edges(v) > 0)
                check(GrB_Vector_setElement_FP64(degree_.get(), static_cast<double>(edges(v)) / rank_damping, v));
        }
        check(GrB_Vector_wait(degree_.get(), GrB_MATERIALIZE));
    }

    void fetch(GrB_Vector from, double missing)
    {
        GrB_Index entries = n_;
        std::vector<GrB_Index> at(n_);
        std::vector<double> value(n_);
        check(GrB_Vector_extractTuples_FP64(at.data(), value.data(), &entries, from));
        result_.assign(n_, missing);
        for (GrB_Index k = 0; k < entries; ++k) result_[at[k]] = value[k];
    }

    GraphProblem& problem_;
    GrB_Index n_;
    Matrix a_, lower_, upper_;
    Vector degree_;
    bool has_isolated_ = false;
    std::vector<GrB_Index> order_;
    std::vector<double> result_;
};

Contender contender_of(GraphProblem& problem, const std::string& name, void (GraphblasGraph::*run)())
{
    auto one = std::make_shared<std::unique_ptr<GraphblasGraph>>();
    return {name, Role::baseline,
            [one, &problem] {
                *one = std::make_unique<GraphblasGraph>(problem);
                return Prepared{};
            },
            [one, run] { ((**one).*run)(); }, [one] { return (*one)->result(); }};
}

}  // namespace

std::vector<Contender> graphblas_graph(GraphProblem& problem, const std::string& algorithm)
{
    if (algorithm == "triangles")
        return {contender_of(problem, "graphblas", &GraphblasGraph::triangles),
                contender_of(problem, "graphblas product", &GraphblasGraph::triangles_of_product)};
    if (algorithm == "bfs") return {contender_of(problem, "graphblas", &GraphblasGraph::bfs)};
    if (algorithm == "pagerank") return {contender_of(problem, "graphblas", &GraphblasGraph::pagerank)};
    return {contender_of(problem, "graphblas", &GraphblasGraph::masked)};
}

}  // namespace tulle::bench
