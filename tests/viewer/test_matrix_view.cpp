#include "viewer/plots/matrix_view.h"

#include <catch2/catch.hpp>

namespace locus::test::test_matrix_view {

TEST_CASE("matrix_view: zooming keeps the cell under the pointer", "[viewer]") {
    MatrixView view;
    const double x = 0.25, y = 0.7;
    const double before_j = view.first_j + x * view.shown(100), before_i = view.first_i + y * view.shown(100);
    view.zoom(4, x, y, 100);
    CHECK(view.shown(100) == 25);
    CHECK(view.first_j + x * view.shown(100) == Approx(before_j));
    CHECK(view.first_i + y * view.shown(100) == Approx(before_i));
}

TEST_CASE("matrix_view: never outside the matrix, never fewer than two cells, never more than all", "[viewer]") {
    MatrixView view;
    view.zoom(1000, 0.5, 0.5, 100);
    CHECK(view.shown(100) == 2);
    view.pan(-1000, 1000, 100);
    CHECK(view.first_j == 98);
    CHECK(view.first_i == 0);
    view = {10, 20, 50};
    view.pan(-0.2, 0.1, 100);  // shares of what is shown
    CHECK(view.first_j == 30);
    CHECK(view.first_i == 5);
    view.zoom(0.001, 0.5, 0.5, 100);
    CHECK(view.fits_all());
    CHECK(view.first_j == 0);
}

TEST_CASE("matrix_view: one token has nothing to zoom into", "[viewer]") {
    MatrixView view;
    view.zoom(3, 0.5, 0.5, 1);
    CHECK(view.shown(1) == 1);
    CHECK(view.first_i == 0);
}

TEST_CASE("matrix_view: a shorter text brings the window back inside", "[viewer]") {
    CHECK(MatrixView{0, 0, 80}.shown(50) == 50);
    MatrixView far{90, 90, 20};
    far.reveal(45, 45, 50);
    CHECK(far.first_i == 30);
    CHECK(far.first_j == 30);
    MatrixView view{80, 80, 10};
    view.clamp(50);
    CHECK(view.first_i == 40);
    CHECK(view.first_j == 40);
    view.clamp(8);
    CHECK(view.fits_all());
}

TEST_CASE("matrix_view: a cell outside is brought to the nearest edge", "[viewer]") {
    MatrixView view{10, 10, 5};
    view.reveal(20, 2, 100);
    CHECK(view.first_i == 16);
    CHECK(view.first_j == 2);
    view.reveal(18, 4, 100);  // inside already
    CHECK(view.first_i == 16);
    CHECK(view.first_j == 2);
}

TEST_CASE("matrix_view: a matrix of any shape is revealed cell by cell", "[viewer]") {
    MatrixView view{0, 0, 8};  // of 4 x 32
    view.reveal(Cell{3, 30}, 4, 32);
    // Row 3 covers places 24 to 31, column 30 is place 30.
    CHECK(view.first_i == 24);
    CHECK(view.first_j == 23);
    view.reveal(Cell{0, 30}, 4, 32);
    CHECK(view.first_i == 0);
    CHECK(view.first_j == 23);
    MatrixView wide{0, 0, 12};  // of 32 x 4: column 3 covers places 24 to 31, all of which fit
    wide.reveal(Cell{30, 3}, 32, 4);
    CHECK(wide.first_i == 19);
    CHECK(wide.first_j == 20);
}

}  // namespace locus::test::test_matrix_view
