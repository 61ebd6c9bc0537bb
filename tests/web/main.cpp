// The program of web-tests: Catch2's, whose library is compiled for the desktop alone.
#define CATCH_CONFIG_MAIN
#define CATCH_CONFIG_NO_POSIX_SIGNALS
#include <catch2/catch.hpp>
