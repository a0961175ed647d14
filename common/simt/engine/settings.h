/* settings.h — the settings of simt.h as the backend reads them. */
#ifndef SIMT_SETTINGS_H
#define SIMT_SETTINGS_H

#include "simt.h"

extern struct simt_settings simt_settings;

#endif
