// tulle: sparse linear algebra on CPUs and GPUs
// SPDX-License-Identifier: BSD-3-Clause
// Intel MKL: mkl_sparse_spmm, sorted by mkl_sparse_order or as it comes; new values by the last stage of
// mkl_sparse_sp2m.
#include <cstddef>
#include <memory>
#include <vector>

#include "bench/baselines/mkl_matrix.hpp"
#include "bench/baselines/spgemm.hpp"

namespace tulle::bench {
namespace {

struct CsrArrays {
    sparse_index_base_t base;
    MKL_INT rows, cols;
    MKL_INT *begin, *end, *col;
};

sparse_status_t export_csr(sparse_matrix_t m, CsrArrays& c, float*& value)
{
    return mkl_sparse_s_export_csr(m, &c.base, &c.rows, &c.cols, &c.begin, &c.end, &c.col, &value);
}
sparse_status_t export_csr(sparse_matrix_t m, CsrArrays& c, double*& value)
{
    return mkl_sparse_d_export_csr(m, &c.base, &c.rows, &c.cols, &c.begin, &c.end, &c.col, &value);
}

template <class V>
struct MklSpgemm {
    MklSpgemm(SpgemmProblem<V>& which, bool in_order) : problem(which), sorted(in_order)
    {
        require<ValueError>(problem.nonzeros() <= max_index, "more nonzeros than 32-bit offsets can count");
        mkl::use_threads(problem.ctx);
        a.create(problem.a);
    }

    void call()
    {
        sparse_matrix_t made = nullptr;
        mkl::check(mkl_sparse_spmm(mkl::as_stored, a.get(), a.get(), &made));
        c.reset(made);
        if (sorted) mkl::check(mkl_sparse_order(made));
    }

    void prepare_refill()
    {
        sparse_matrix_t made = nullptr;
        stage(SPARSE_STAGE_FULL_MULT_NO_VAL, made);
        c.reset(made);
    }

    void refill()
    {
        sparse_matrix_t filled = c.get();
        stage(SPARSE_STAGE_FINALIZE_MULT, filled);
    }

    void stage(sparse_request_t request, sparse_matrix_t& result) const
    {
        mkl::check(mkl_sparse_sp2m(mkl::as_stored, mkl::general(), a.get(), mkl::as_stored, mkl::general(), a.get(),
                                   request, &result));
    }

    double worst_share() const
    {
        CsrArrays of = {};
        V* value = nullptr;
        mkl::check(export_csr(c.get(), of, value));
        return sorted ? problem.worst_share(of.rows, of.begin, of.col, value)
                      : problem.worst_share_unsorted(of.rows, of.begin, of.col, value);
    }

    SpgemmProblem<V>& problem;
    bool sorted;
    mkl::Matrix<V> a;
    mkl::Handle c;
};

}  // namespace

template <class V>
std::vector<Multiplier> mkl_spgemm(SpgemmProblem<V>& problem)
{
    std::vector<Multiplier> all;
    for (const bool sorted : {true, false}) {
        auto one = std::make_shared<MklSpgemm<V>>(problem, sorted);
        all.push_back({sorted ? "mkl" : "mkl, unsorted", Role::baseline, [one] { one->call(); },
                       [one] { return one->worst_share(); }, [one] { one->c.reset(); }});
        if (sorted) continue;
        all.back().prepare_refill = [one] { one->prepare_refill(); };
        all.back().refill = [one] { one->refill(); };
        all.back().result_bytes = [] { return std::size_t{0}; };  // C is in memory of MKL's own
    }
    return all;
}

template std::vector<Multiplier> mkl_spgemm(SpgemmProblem<float>&);
template std::vector<Multiplier> mkl_spgemm(SpgemmProblem<double>&);

}  // namespace tulle::bench
