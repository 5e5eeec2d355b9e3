#!/bin/sh
# A population study as a Slurm job array, in the image (IMAGE=anatomy-cuda.sif with --gpus-per-task=1 for GPUs):
#   sbatch docker/cluster/slurm.sh register -data "$PWD/shapes.csv" -out "$PWD/results"
# An atlas is submitted once a round, each waiting for the one before; what is too much ends at once:
#   for round in $(seq 40); do sbatch --dependency=singleton docker/cluster/slurm.sh atlas -data "$PWD/meshes" -out "$PWD/results"; done
# Submitted again, with as many tasks as one likes, it computes what is missing. The table, at the end:
#   sbatch --dependency=singleton --array=0 docker/cluster/slurm.sh collect -out "$PWD/results"
#SBATCH --job-name=study
#SBATCH --array=0-31
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
#SBATCH --time=04:00:00
#SBATCH --requeue
#SBATCH --output=study-%A-%a.log
set -eu
# On a GPU, sums in a fixed order.
export XLA_FLAGS="${XLA_FLAGS:-} --xla_gpu_deterministic_ops=true"
gpu=
[ -z "${CUDA_VISIBLE_DEVICES:-}" ] || gpu=--nv
# shellcheck disable=SC2086
exec srun apptainer exec $gpu "${IMAGE:-anatomy-cpu.sif}" /anatomy/docker/entrypoint study "$@"
