/** uPlot as it is served: its own module, under a name of ours. */
export { default } from "uplot";
