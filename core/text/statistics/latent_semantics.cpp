#include "core/text/statistics/latent_semantics.h"

#include <Eigen/SVD>

#include <algorithm>

namespace locus {

LatentSemantics latent_semantics(const ConstView<double>& rows, Index topics) {
    const Index most = std::min(rows.rows(), rows.cols());
    LOCUS_CHECK(topics >= 1 && topics <= most,
                "latent_semantics: topics is " + std::to_string(topics) + ", expected 1 to " + std::to_string(most) +
                    " for " + std::to_string(rows.rows()) + " documents and " + std::to_string(rows.cols()) + " words");
    LOCUS_CHECK(rows.allFinite(), "latent_semantics: the matrix holds a value that is not finite");
    const Eigen::BDCSVD<Eigen::MatrixXd> svd(rows, Eigen::ComputeThinU | Eigen::ComputeThinV);
    LatentSemantics space;
    space.strengths = svd.singularValues().head(topics).transpose();
    space.documents = svd.matrixU().leftCols(topics) * space.strengths.asDiagonal();
    space.words = svd.matrixV().leftCols(topics);
    for (Index topic = 0; topic < topics; ++topic) {
        Index largest = 0;
        space.words.col(topic).cwiseAbs().maxCoeff(&largest);
        if (space.words(largest, topic) >= 0) continue;
        space.words.col(topic) = 0 - space.words.col(topic).array();  // not *= -1: no zero with a sign
        space.documents.col(topic) = 0 - space.documents.col(topic).array();
    }
    const double whole = svd.singularValues().squaredNorm();
    space.shares = RowVector<double>::Zero(topics);
    if (whole > 0) space.shares = space.strengths.array().square() / whole;
    return space;
}

}  // namespace locus
