import { Center, Loader } from "@mantine/core";

/** Stands where something is about to be shown: in a part of a page, or alone in the window. */
export const Loading = ({ fillsWindow = false }: { fillsWindow?: boolean }) => (
  <Center {...(fillsWindow ? { mih: "100vh" } : { p: "xl" })}>
    <Loader role="status" aria-label="Loading" />
  </Center>
);
