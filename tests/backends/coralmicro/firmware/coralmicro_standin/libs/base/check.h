#pragma once

#include <cstdlib>

#define CHECK(condition) ((condition) ? (void)0 : abort())
