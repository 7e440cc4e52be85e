#include "model/suppress_presets.h"

static const char *const names[PRESETS] = {
    [PRESET_LOADER] = "the loader",     /* lists of libraries, storage of threads */
    [PRESET_LIBC] = "libc",             /* locales, converters, name services, buffers of stdio */
    [PRESET_LIBSTDCXX] = "libstdc++",   /* its pool for exceptions when memory is short */
    [PRESET_PYTHON] = "CPython",        /* its start, types made ready, interned strings */
    [PRESET_ROOT] = "ROOT",             /* its interpreter and dictionaries of classes */
    [PRESET_GLIB] = "GLib",             /* types, quarks, interned strings */
    [PRESET_OPENSSL] = "OpenSSL",       /* tables and error strings */
    [PRESET_LLVM] = "LLVM",             /* options and passes, registered as it is loaded */
    [PRESET_FONTCONFIG] = "fontconfig", /* configuration and caches of fonts */
};

#define LOADER  "ld-linux*|ld-*.so*|ld.so*|ld64.so*"
#define LIBC    "libc.so*|libc-2.*"
#define STDCXX  "libstdc++.so*"
#define PYTHON  "python3*|libpython3*"
#define ROOT    "libCore.so*|libCling.so*|libRIO.so*|libThread.so*|libstdc++.so*|libc.so*"
#define GLIB    "libglib-2.0.so*|libgobject-2.0.so*"
#define OPENSSL "libcrypto.so*|libssl.so*|libc.so*"
#define LLVM    "libLLVM*.so*|libclang*.so*|libstdc++.so*"
#define FONTS   "libfontconfig.so*|libexpat.so*|libfreetype.so*|libc.so*"

/*
 * Innermost frame first; the allocation function itself is not listed. A comment gives the reason
 * where the name alone does not. "X!... < Y!f" is f of Y, and whatever it called within X.
 */
static const struct {
    enum preset preset;
    const char *places;
} rules[] = {
    /* The loader's own code allocated it; initialisers that the loader calls are code of other
     * libraries. */
    {PRESET_LOADER, LOADER "!*"},

    /* Tables and names of the current locale; setlocale's are shared by all later calls. */
    {PRESET_LIBC, LIBC "!... < " LIBC "!setlocale"},
    {PRESET_LIBC, LIBC "!... < " LIBC "!_nl_find_locale"},
    {PRESET_LIBC, LIBC "!... < " LIBC "!_nl_load_locale*"},
    /* Catalogues of translated messages. */
    {PRESET_LIBC, LIBC "!... < " LIBC "!*dcigettext"},
    {PRESET_LIBC, LIBC "!... < " LIBC "!*dcgettext"},
    {PRESET_LIBC, LIBC "!... < " LIBC "!*bindtextdomain"},
    {PRESET_LIBC, LIBC "!... < " LIBC "!*textdomain"},
    /* Which converters exist, but not what iconv_open returns. */
    {PRESET_LIBC, LIBC "!... < " LIBC "!__gconv_load_cache"},
    {PRESET_LIBC, LIBC "!... < " LIBC "!__gconv_load_conf"},
    {PRESET_LIBC, LIBC "!... < " LIBC "!__gconv_read_conf"},
    {PRESET_LIBC, LIBC "!... < " LIBC "!__gconv_find_shlib"},
    {PRESET_LIBC, LIBC "!... < " LIBC "!__wcsmbs_load_conv"},
    /* Which service answers for users, groups and hosts; and the one result that is kept. */
    {PRESET_LIBC, LIBC "!... < " LIBC "!__nss_database_get"},
    {PRESET_LIBC, LIBC "!... < " LIBC "!__nss_lookup_function"},
    {PRESET_LIBC, LIBC "!... < " LIBC "!__nss_module_*"},
    {PRESET_LIBC, LIBC "!... < " LIBC "!__nss_*_lookup2"},
    {PRESET_LIBC, LIBC "!getpwnam"},
    {PRESET_LIBC, LIBC "!getpwuid"},
    {PRESET_LIBC, LIBC "!getgrnam"},
    {PRESET_LIBC, LIBC "!getgrgid"},
    {PRESET_LIBC, LIBC "!gethostbyname*"},
    {PRESET_LIBC, LIBC "!gethostbyaddr"},
    {PRESET_LIBC, LIBC "!getservbyname"},
    {PRESET_LIBC, LIBC "!getservbyport"},
    {PRESET_LIBC, LIBC "!getprotobyname"},
    {PRESET_LIBC, "libnss_*.so*!*"},
    {PRESET_LIBC, LIBC "!... < " LIBC "!__res_maybe_init"},
    {PRESET_LIBC, LIBC "!... < " LIBC "!__resolv_context_get*"},
    /* The rules of the time zone. */
    {PRESET_LIBC, LIBC "!... < " LIBC "!tzset"},
    {PRESET_LIBC, LIBC "!... < " LIBC "!tzset_internal"},
    {PRESET_LIBC, LIBC "!... < " LIBC "!localtime"},
    {PRESET_LIBC, LIBC "!... < " LIBC "!localtime_r"},
    {PRESET_LIBC, LIBC "!... < " LIBC "!mktime"},
    /* Functions that can only write to stdout or read from stdin. */
    {PRESET_LIBC, LIBC "!_IO_file_doallocate < " LIBC "!... < " LIBC "!puts"},
    {PRESET_LIBC, LIBC "!_IO_file_doallocate < " LIBC "!... < " LIBC "!_IO_puts"},
    {PRESET_LIBC, LIBC "!_IO_file_doallocate < " LIBC "!... < " LIBC "!putchar*"},
    {PRESET_LIBC, LIBC "!_IO_file_doallocate < " LIBC "!... < " LIBC "!printf"},
    {PRESET_LIBC, LIBC "!_IO_file_doallocate < " LIBC "!... < " LIBC "!vprintf"},
    {PRESET_LIBC, LIBC "!_IO_file_doallocate < " LIBC "!... < " LIBC "!*printf_chk"},
    {PRESET_LIBC, LIBC "!_IO_file_doallocate < " LIBC "!... < " LIBC "!getchar*"},
    {PRESET_LIBC, LIBC "!_IO_file_doallocate < " LIBC "!... < " LIBC "!scanf"},
    {PRESET_LIBC, LIBC "!_IO_file_doallocate < " LIBC "!... < " LIBC "!__isoc*_scanf"},
    /* Lists of what to call at exit, at fork and per thread. */
    {PRESET_LIBC, LIBC "!__new_exitfn"},
    {PRESET_LIBC, LIBC "!... < " LIBC "!__cxa_atexit"},
    {PRESET_LIBC, LIBC "!... < " LIBC "!__register_atfork"},
    {PRESET_LIBC, LIBC "!*pthread_setspecific"},

    {PRESET_LIBSTDCXX, STDCXX "!(anonymous namespace)::pool::pool"},
    {PRESET_LIBSTDCXX, STDCXX "!... < " STDCXX "!_GLOBAL__sub_I_eh_alloc.cc"},
    /* Its initialisers, called by the loader: how it looks if the library has no symbols. */
    {PRESET_LIBSTDCXX, STDCXX "!... < " LOADER "!*"},

    {PRESET_PYTHON, PYTHON "!... < " PYTHON "!Py_InitializeFromConfig"},
    {PRESET_PYTHON, PYTHON "!... < " PYTHON "!Py_InitializeEx"},
    {PRESET_PYTHON, PYTHON "!... < " PYTHON "!PyType_Ready"},
    {PRESET_PYTHON, PYTHON "!... < " PYTHON "!PyUnicode_InternInPlace"},
    {PRESET_PYTHON, PYTHON "!... < " PYTHON "!PyUnicode_InternFromString"},
    /* Interned as well once they exist: names in code, and keys. From 3.12 on for good. */
    {PRESET_PYTHON, PYTHON "!PyUnicode_New < " PYTHON "!... < " PYTHON "!r_object"},
    {PRESET_PYTHON, PYTHON "!PyUnicode_New < " PYTHON "!... < " PYTHON "!PyDict_SetItemString"},
    {PRESET_PYTHON, PYTHON "!PyUnicode_New < " PYTHON "!... < " PYTHON "!_PyPegen_new_identifier"},
    {PRESET_PYTHON,
     PYTHON "!PyUnicode_New < " PYTHON "!... < " PYTHON "!_PyPegen_constant_from_string"},

    {PRESET_ROOT, ROOT "!... < libCore.so*!TROOT::TROOT"},
    {PRESET_ROOT, ROOT "!... < libCore.so*!TROOT::InitInterpreter"},
    {PRESET_ROOT, ROOT "!... < libCore.so*!TROOT::RegisterModule"},
    {PRESET_ROOT, ROOT "!... < libCore.so*!TClassTable::Add"},
    {PRESET_ROOT, ROOT "!... < libCore.so*!TClass::Init"},
    {PRESET_ROOT, ROOT "!... < libCore.so*!TClass::GetClass"},
    {PRESET_ROOT, ROOT "!... < libCore.so*!ROOT::TGenericClassInfo::*"},
    {PRESET_ROOT, ROOT "!... < libCling.so*!TCling::TCling"},
    {PRESET_ROOT, ROOT "!... < libCling.so*!TCling::RegisterModule"},
    {PRESET_ROOT, ROOT "!... < libCling.so*!TCling::LoadPCM*"},

    {PRESET_GLIB, GLIB "!... < libgobject-2.0.so*!g_type_register_*"},
    {PRESET_GLIB, GLIB "!... < libgobject-2.0.so*!g_type_add_interface_*"},
    {PRESET_GLIB, GLIB "!... < libglib-2.0.so*!g_quark_from_*"},
    {PRESET_GLIB, GLIB "!... < libglib-2.0.so*!g_intern_*"},
    {PRESET_GLIB, GLIB "!... < " LOADER "!*"},

    {PRESET_OPENSSL, OPENSSL "!... < libcrypto.so*!OPENSSL_init_crypto"},
    {PRESET_OPENSSL, OPENSSL "!... < libssl.so*!OPENSSL_init_ssl"},

    {PRESET_LLVM, LLVM "!... < " LOADER "!*"},

    {PRESET_FONTCONFIG, FONTS "!... < libfontconfig.so*!FcInit*"},
    {PRESET_FONTCONFIG, FONTS "!... < libfontconfig.so*!FcConfigGetCurrent"},
    {PRESET_FONTCONFIG, FONTS "!... < libfontconfig.so*!FcConfigReference"},
};

const char *preset_name(enum preset p)
{
    return names[p];
}

void presets_add(struct suppressions *s)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        suppressions_add_preset(s, rules[i].preset, names[rules[i].preset], rules[i].places);
}
