"""Trains a small model with FSDP2 in two processes and writes distributed checkpoints; called by faults.py with a folder."""
import os
import socket
import sys
import warnings
from pathlib import Path

warnings.filterwarnings("ignore")
import torch
import torch.distributed as dist


def work(rank, folder, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE="2")
    dist.init_process_group("gloo", rank=rank, world_size=2)
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.state_dict import get_state_dict
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from transformers import DistilBertConfig, DistilBertForTokenClassification

    torch.manual_seed(0)
    model = DistilBertForTokenClassification(DistilBertConfig(
        vocab_size=101, dim=32, n_layers=2, n_heads=4, hidden_dim=64, max_position_embeddings=40, num_labels=5))
    if rank == 0:
        torch.save(model.state_dict(), folder / "fsdp-whole.pt")
    for name, parameter in model.named_parameters():
        parameter.requires_grad_("layer.0." not in name)
    mesh = init_device_mesh("cpu", (2,))
    for layer in model.distilbert.transformer.layer:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    optimiser = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2, weight_decay=0.1)
    dcp.save({"model": get_state_dict(model, [])[0]}, checkpoint_id=str(folder / "fsdp-before"))
    words = torch.randint(5, 100, (2, 8))
    for _ in range(2):
        optimiser.zero_grad()
        model(input_ids=words, labels=words % 5).loss.backward()
        optimiser.step()
    weights, state = get_state_dict(model, optimiser)
    dcp.save({"model": weights, "optim": state}, checkpoint_id=str(folder / "fsdp-after"))
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        free_port = free.getsockname()[1]
    torch.multiprocessing.spawn(work, args=(Path(sys.argv[1]), free_port), nprocs=2)
