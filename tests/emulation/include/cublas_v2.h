// Stand-in of cuBLAS's cublas_v2.h. There are no functions here: products go through cuBLASLt.
#pragma once

#include "cublas_api.h"
