import { Center, Loader } from "@mantine/core";

/** A spinner in the place of what is still to come: a part of a page, or all of it. */
export const Loading = ({ fillsWindow = false }: { fillsWindow?: boolean }) => (
  <Center {...(fillsWindow ? { mih: "100vh" } : { p: "xl" })}>
    <Loader role="status" aria-label="Loading" />
  </Center>
);
