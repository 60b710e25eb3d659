# SPDX-FileCopyrightText: The Keelson Authors
# SPDX-License-Identifier: Apache-2.0

# KS_ARG_BOOL(NAME, HELP): --enable-NAME, off by default; sets $enable_name and the conditional NAME.
AC_DEFUN([KS_ARG_BOOL], [
AC_ARG_ENABLE([$1], [AS_HELP_STRING([--enable-$1], [$2 (default: no)])], [], [AS_TR_SH([enable_$1])=no])
AM_CONDITIONAL(m4_toupper(m4_translit([$1], [-], [_])), [test "$AS_TR_SH([enable_$1])" = yes])
])

# KS_OPTIONAL_MODULE(PREFIX, MODULES, VARIABLE): the first pkg-config module that is there; VARIABLE is yes or no.
AC_DEFUN([KS_OPTIONAL_MODULE], [
$3=no
m4_if(m4_bregexp([$2], [>=]), [-1],
  [for ks_module in $2; do
    PKG_CHECK_EXISTS([$ks_module], [
      $3=yes
      $1_CFLAGS=`$PKG_CONFIG --cflags $ks_module`
      $1_LIBS=`$PKG_CONFIG --libs $ks_module`
      break])
  done],
  [PKG_CHECK_EXISTS([$2], [
    $3=yes
    $1_CFLAGS=`$PKG_CONFIG --cflags "$2"`
    $1_LIBS=`$PKG_CONFIG --libs "$2"`])])
AC_SUBST([$1_CFLAGS])
AC_SUBST([$1_LIBS])
AM_CONDITIONAL([HAVE_$1], [test "$$3" = yes])
])

# KS_HARDENING: flags for all of our objects in KS_CFLAGS, KS_CXXFLAGS and KS_LDFLAGS.
AC_DEFUN([KS_HARDENING], [
ks_common="-fvisibility=hidden -fno-strict-aliasing -Wall -Wextra -Wshadow=local -Wpointer-arith -Wvla"
ks_common_clang="-fvisibility=hidden -fno-strict-aliasing -Wall -Wextra -Wpointer-arith -Wvla"
AC_MSG_CHECKING([whether the compiler takes -Wshadow=local])
ks_saved_cflags=$CFLAGS
CFLAGS="-Werror -Wshadow=local"
AC_COMPILE_IFELSE([AC_LANG_PROGRAM()], [AC_MSG_RESULT([yes])], [AC_MSG_RESULT([no]); ks_common=$ks_common_clang])
CFLAGS=$ks_saved_cflags
AS_IF([test "$enable_werror" = yes], [ks_common="$ks_common -Werror"])
ks_sanitize=
AS_IF([test "$enable_sanitizers" = yes], [ks_sanitize="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"])
AS_IF([test "$enable_thread_sanitizer" = yes], [ks_sanitize="-fsanitize=thread -fno-omit-frame-pointer"])
AS_IF([test -z "$ks_sanitize"], [ks_common="$ks_common -fstack-protector-strong -fstack-clash-protection"
  case $CFLAGS in
  *-O0*) ;;
  *) ks_common="$ks_common -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2" ;;
  esac])
KS_CFLAGS="-std=gnu11 -fPIC $ks_common $ks_sanitize -Wstrict-prototypes -Wmissing-prototypes"
# What clang checks in C++ alone needs its C++ run-time library, and the server is linked as C.
ks_sanitize_cxx=$ks_sanitize
AS_IF([test "$enable_sanitizers" = yes], [
  AC_MSG_CHECKING([whether the compiler takes -fno-sanitize=function])
  ks_saved_cflags=$CFLAGS
  CFLAGS="-Werror -fno-sanitize=function"
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM()],
    [AC_MSG_RESULT([yes]); ks_sanitize_cxx="$ks_sanitize -fno-sanitize=function,vptr"], [AC_MSG_RESULT([no])])
  CFLAGS=$ks_saved_cflags])
KS_CXXFLAGS="-std=c++17 -fPIC $ks_common $ks_sanitize_cxx"
KS_LDFLAGS="$ks_sanitize -Wl,-z,relro -Wl,-z,now"
KS_PIE_LDFLAGS="-pie"
AC_SUBST([KS_CFLAGS])
AC_SUBST([KS_CXXFLAGS])
AC_SUBST([KS_LDFLAGS])
AC_SUBST([KS_PIE_LDFLAGS])
])

# KS_PLUGIN(KIND, NAME, [HAVE-VARIABLE]): declares a plugin: --without-NAME, the conditional WITH_KIND_NAME, a line in the
# summary and, with --enable-static-plugins, an entry in the table of plugins inside the server.
AC_DEFUN([KS_PLUGIN], [
AC_ARG_WITH([$2], [AS_HELP_STRING([--without-$2], [leave out the $1 plugin $2])], [], [with_$2=yes])
ks_why=
m4_if([$3], [], [], [AS_IF([test "$with_$2" = yes && test "$$3" != yes], [with_$2=no; ks_why=" (its library was not found)"])])
AM_CONDITIONAL([WITH_]m4_toupper([$1_$2]), [test "$with_$2" = yes])
AS_IF([test "$with_$2" = yes],
  [ks_plugins_in="$ks_plugins_in $1/$2"; ks_static_plugins="$ks_static_plugins $2"],
  [ks_plugins_out="$ks_plugins_out $1/$2$ks_why"])
])

# KS_STATIC_PLUGIN_TABLE: core/static-plugins.def, one line for each plugin that is linked in.
AC_DEFUN([KS_STATIC_PLUGIN_TABLE], [
AC_CONFIG_COMMANDS([static-plugins.def], [
  : > static-plugins.tmp
  if test "$ks_static" = yes; then
    for ks_name in $ks_static_names; do
      echo "KS_STATIC_PLUGIN($ks_name)" >> static-plugins.tmp
    done
  fi
  if cmp -s static-plugins.tmp static-plugins.def; then rm -f static-plugins.tmp; else mv -f static-plugins.tmp static-plugins.def; fi
], [ks_static="$enable_static_plugins"; ks_static_names="$ks_static_plugins"])
])

# KS_API_DOCS: --with-api-docs=DIR, where the Go packages of Kubernetes' API types are, of whose comments the OpenAPI documents
# get their descriptions. API_DOCS is the option for the schema compiler, empty when they aren't there.
AC_DEFUN([KS_API_DOCS], [
AC_ARG_WITH([api-docs], [AS_HELP_STRING([--with-api-docs=DIR],
  [take descriptions of API types from the Go packages below DIR (golang-k8s-api-dev; default: /usr/share/gocode/src, if it is there)])],
  [], [with_api_docs=check])
ks_api_docs=$with_api_docs
AS_CASE([$with_api_docs], [check | yes], [ks_api_docs=/usr/share/gocode/src])
AS_IF([test "$ks_api_docs" != no && test -r "$ks_api_docs/k8s.io/api/core/v1/types.go"],
  [ks_api_docs=`cd "$ks_api_docs" && pwd`; API_DOCS="--docs '$ks_api_docs'"],
  [test "$with_api_docs" = check || test "$with_api_docs" = no],
  [ks_api_docs="none (golang-k8s-api-dev was not found)"; API_DOCS=],
  [AC_MSG_ERROR([--with-api-docs: there is no $ks_api_docs/k8s.io/api/core/v1/types.go])])
AC_SUBST([API_DOCS])
])

# KS_SUMMARY: what will be built.
AC_DEFUN([KS_SUMMARY], [
AC_MSG_NOTICE([
  keelson $PACKAGE_VERSION
    compiler         $CC, CFLAGS $CFLAGS
    sanitizers       $enable_sanitizers (thread: $enable_thread_sanitizer)
    plugins          $ks_plugins_in
    left out         ${ks_plugins_out:- none}
    linked in        $enable_static_plugins
    CBOR             $have_cbor
    unit tests       $have_cmocka
    descriptions     $ks_api_docs
    installs to      $prefix, plugins in $libdir/keelson
])
])
