/*
 * pprof_fields: the numbers of the fields of pprof's profile.proto, which export and import share.
 */
#ifndef TIDE_BASE_PPROF_FIELDS_H
#define TIDE_BASE_PPROF_FIELDS_H

enum pprof_field {
    PROFILE_SAMPLE_TYPE = 1,
    PROFILE_SAMPLE = 2,
    PROFILE_MAPPING = 3,
    PROFILE_LOCATION = 4,
    PROFILE_FUNCTION = 5,
    PROFILE_STRING = 6,
    PROFILE_TIME = 9,
    PROFILE_DURATION = 10,
    PROFILE_PERIOD_TYPE = 11,
    PROFILE_PERIOD = 12,
    PROFILE_COMMENT = 13,
    PROFILE_DEFAULT_TYPE = 14,
};

#endif
