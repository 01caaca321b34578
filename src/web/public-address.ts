/**
 * Addresses that a page may be fetched from. A name that leads into this machine or its network must not be followed: behind such addresses are
 * cloud credentials (169.254.169.254), databases and panels that trust whoever reaches them.
 */
import { BlockList, isIP } from "node:net";

/** IANA special-purpose registry of IPv4, and multicast. */
const NOT_PUBLIC_4 = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
] as const;
/** Of the one block of IPv6 that is handed out (2000::/3): tunnels that carry an IPv4 address, documentation, other special purposes. */
const NOT_PUBLIC_6 = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
] as const;

const refused = new BlockList();
for (const [net, prefix] of NOT_PUBLIC_4) refused.addSubnet(net, prefix, "ipv4");
for (const [net, prefix] of NOT_PUBLIC_6) refused.addSubnet(net, prefix, "ipv6");
const handedOut = new BlockList();
handedOut.addSubnet("2000::", 3, "ipv6");

/** True for an address on the public internet. Every IPv6 address outside 2000::/3 is none: loopback, link-local, mapped IPv4 and all others. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !refused.check(address, "ipv4");
    case 6:
      return handedOut.check(address, "ipv6") && !refused.check(address, "ipv6");
    default:
      return false;
  }
}
