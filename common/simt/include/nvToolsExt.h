/* nvToolsExt.h — the old place of nvtx3/nvToolsExt.h. */
#include "nvtx3/nvToolsExt.h"
