/* cuda_pipeline.h — the primitives; cuda::pipeline is not there. */
#include "cuda_pipeline_primitives.h"
