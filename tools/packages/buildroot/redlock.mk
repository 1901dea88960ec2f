################################################################################
#
# redlock: the command, statically linked with its library; headers and library in staging
#
################################################################################

REDLOCK_VERSION = 0.2.0
REDLOCK_SITE = $(BR2_REDLOCK_SITE)
REDLOCK_LICENSE = MIT
REDLOCK_LICENSE_FILES = LICENSE
REDLOCK_INSTALL_STAGING = YES

REDLOCK_MAKE = $(TARGET_MAKE_ENV) $(MAKE) -C $(@D) $(TARGET_CONFIGURE_OPTS) PREFIX=/usr UNITDIR= NEED_INSTALL=no

define REDLOCK_BUILD_CMDS
	$(REDLOCK_MAKE) all
endef

define REDLOCK_INSTALL_STAGING_CMDS
	$(REDLOCK_MAKE) DESTDIR=$(STAGING_DIR) install-lib
endef

define REDLOCK_INSTALL_TARGET_CMDS
	$(INSTALL) -D -m 0755 $(@D)/build/redlock $(TARGET_DIR)/usr/bin/redlock
endef

$(eval $(generic-package))
