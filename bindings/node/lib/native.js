"use strict";
// Finds and loads the addon: by the platform and C library of the running process, never by files on its disk.
const path = require("node:path");

const ABI_MAJOR = 0;
let loaded;

/** "glibc" or "musl", as the running process is linked. */
function libc() {
  const report = process.report?.getReport ? reportHeader() : undefined;
  if (report?.glibcVersionRuntime) return "glibc";
  if (report && process.versions.node && !globalThis.Bun && !globalThis.Deno) return "musl";
  return "glibc"; // Bun's and Deno's report says nothing; their own musl builds fail below with the linker's reason.
}

function reportHeader() {
  const { excludeNetwork } = process.report;
  try {
    process.report.excludeNetwork = true; // else it resolves the names of open sockets
    return process.report.getReport().header;
  } catch {
    return undefined;
  } finally {
    process.report.excludeNetwork = excludeNetwork;
  }
}

/** The addon, loaded at the first call. Throws an Error of one sentence when that cannot be. */
function native() {
  return (loaded ??= load());
}

function load() {
  const file = (variant) => path.join(__dirname, "..", "prebuilds", `${process.platform}-${process.arch}-${variant}`, "deemster.node");
  let addon, reason;
  try {
    addon = require(file("glibc"));
  } catch (error) {
    reason = error;
  }
  if (addon === undefined) {
    const variant = process.platform === "linux" ? libc() : "any";
    const here = `${process.platform}-${process.arch}-${variant}`;
    if (variant === "musl" || reason.code === "MODULE_NOT_FOUND") {
      throw new Error(`deemster has no prebuilt addon for ${here}; it comes for linux-x64-glibc, and \`npm run build:native\` ` +
        `in its source builds it elsewhere.`, { cause: reason });
    }
    throw new Error(`deemster's addon for ${here} could not be loaded: ${reason.message}`, { cause: reason });
  }
  const [, major, minor] = addon.deem_abi_version();
  if (major !== ABI_MAJOR) {
    throw new Error(`deemster's addon needs libdeemster of ABI ${ABI_MAJOR}.x but found ${major}.${minor}: reinstall the package.`);
  }
  return addon;
}

module.exports = { native };
